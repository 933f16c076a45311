package pgoutbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// RebaseRequest describes a rebase of the position of a group that no longer fits its database.
type RebaseRequest struct {
	// Group is the group. Defaults to "default".
	Group string

	// KeepPosition keeps the position, for a database that was moved with its transaction ids:
	// only pg_upgrade does that, of all ways to make a new cluster. Defaults to false: the group
	// starts over at Start.
	KeepPosition bool

	// Unsettled starts over at the first message that the group has not settled: everything that
	// is not settled is sent, and also settled messages after it. What is settled is decided by
	// the stored position, and by the numbers and times of messages, so that messages written
	// since the move count as not settled. So do messages in doubt. Records that were set aside
	// stay so.
	Unsettled bool

	// Start is where the group starts over. Oldest sends everything that is retained again, with
	// the same ids, which inboxes recognise; Now leaves out what was committed before, and At
	// what was before that time. One of KeepPosition, Unsettled and Start is required, and
	// excludes the others.
	Start driver.Start

	// LeaveOut is how many messages that the group has not settled may be left out and never
	// sent. Rebase refuses to leave out more. Defaults to 0.
	LeaveOut int64

	// Actor and Reason are stored in the audit. Required.
	Actor, Reason string
}

func (r RebaseRequest) withDefaults() RebaseRequest {
	r.Group = cmp.Or(r.Group, defaultGroup)
	return r
}

func (r RebaseRequest) validate() error {
	if err := validateGroup(r.Group); err != nil {
		return err
	}
	if err := r.Start.Check(); err != nil {
		return err
	}
	ways := 0
	for _, chosen := range []bool{r.KeepPosition, r.Unsettled, r.Start.IsStated()} {
		if chosen {
			ways++
		}
	}
	if ways != 1 {
		return outbox.ConfigError("Start", r.Start, fmt.Sprintf("must be stated unless KeepPosition (%t) or Unsettled (%t) is set", r.KeepPosition, r.Unsettled))
	}
	if r.LeaveOut < 0 {
		return outbox.ConfigError("LeaveOut", r.LeaveOut, "must not be negative")
	}
	if strings.TrimSpace(r.Actor) == "" {
		return outbox.ConfigError("Actor", `""`, "must say who does it")
	}
	if strings.TrimSpace(r.Reason) == "" {
		return outbox.ConfigError("Reason", `""`, "must say why")
	}
	return nil
}

// Rebase makes a group usable again whose relays refuse to start, with an error that wraps
// driver.ErrSourceUnusable, because its position belongs to another cluster, to the log of before
// a TRUNCATE … RESTART IDENTITY, or to commits that the database has lost. Do this for each
// group:
//
//  1. Stop its relays. Producers may go on.
//  2. After pg_upgrade, which keeps transaction ids and sequences, or an ALTER SEQUENCE
//     that changed no number: Rebase with KeepPosition. Nothing is lost or repeated.
//  3. After a dump was restored, a logical copy, TRUNCATE … RESTART IDENTITY: Rebase with
//     Unsettled. Transaction ids of the former cluster mean nothing in the new one, so a position
//     cannot be kept. If the sequence is behind the log's last number, which would make producers
//     fail, Rebase returns an error: set the sequence first.
//  4. After a failover that lost commits, or a backup that was restored, under a sink
//     that keeps the positions itself (driver.TransactionalSink): Rebase with Start.
//     Oldest repeats what the log still holds, with the same ids, and loses nothing.
//  5. Where a sink keeps the positions itself, remove those of the group there, before
//     or after Rebase (kafkasink.Transactional.RemovePositions).
//  6. Start the relays; if the position was kept and the sink's was removed, once with
//     relay.Config.AdoptPosition.
//
// It is audited. It returns driver.ErrLeaseHeld while a lease of the group is live, and an error
// that wraps outbox.ErrInvalidConfig for a request that cannot be met, or that would leave out
// more messages than LeaveOut. It needs the privileges of the tables' owner. PlanRebase returns
// beforehand what it would do.
func (o *Outbox) Rebase(ctx context.Context, r RebaseRequest) error {
	b, err := o.newRebase(ctx, r)
	if err != nil {
		return err
	}
	// Outset comes before the transaction begins, whose xid would otherwise precede the floors.
	if b.at, err = o.chain.Outset(ctx, o.pool, o.window, b.begin(), r.Start.At); err != nil {
		return err
	}
	// Also before: what a session has written that is gone must be in the snapshot.
	if _, err := o.leases.BuryNow(ctx, o.pool, b.Group); err != nil {
		return err
	}
	// In one snapshot: transaction ids of a former cluster may be those of transactions that begin and
	// end here meanwhile. Which rows need another id is decided by the snapshot at which the group
	// starts over, and not by a later one.
	opts := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadWrite}
	for range rebaseTries {
		err = pgx.BeginTxFunc(ctx, o.pool, opts, func(tx pgx.Tx) error { return b.run(ctx, tx) })
		if !pgerr.Is(err, pgerr.SerializationFailure) {
			return err
		}
	}
	return fmt.Errorf("leat: rows of the group changed during each of %d tries: stop its relays and rebase again: %w", rebaseTries, err)
}

// rebaseTries bounds the transactions of a rebase. One fails if something has changed since its snapshot was taken.
const rebaseTries = 5

// rebase is one call of Rebase.
type rebase struct {
	RebaseRequest

	ob *Outbox
	at pgwindow.Outset

	lock, lockLeases, holder, facts              string
	keep, forget, adopt, fence, record, recordNo string
	standing, judge, first, number               string
}

// newRebase checks r and the schema.
func (o *Outbox) newRebase(ctx context.Context, r RebaseRequest) (*rebase, error) {
	r = r.withDefaults()
	if err := r.validate(); err != nil {
		return nil, err
	}
	b := &rebase{ob: o, RebaseRequest: r}
	if err := b.load(o.cfg); err != nil {
		return nil, err
	}
	return b, o.requireSchema(ctx)
}

func (b *rebase) load(cfg Config) error {
	return cfg.load(map[string]*string{
		"rebase_lock":         &b.lock,
		"rebase_lock_leases":  &b.lockLeases,
		"rebase_holder":       &b.holder,
		"rebase_facts":        &b.facts,
		"rebase_keep":         &b.keep,
		"rebase_forget":       &b.forget,
		"rebase_adopt":        &b.adopt,
		"rebase_fence":        &b.fence,
		"rebase_audit":        &b.record,
		"rebase_audit_number": &b.recordNo,
		"rebase_standing":     &b.standing,
		"rebase_judge":        &b.judge,
		"rebase_first":        &b.first,
		"rebase_number":       &b.number,
	})
}

func (b *rebase) run(ctx context.Context, tx pgx.Tx) error {
	if err := b.exclude(ctx, tx); err != nil {
		return err
	}
	at, err := b.check(ctx, tx)
	if err != nil {
		return err
	}
	var adopted int64
	var plan RebasePlan
	stood, err := b.stand(ctx, tx)
	if err != nil {
		return err
	}
	if b.KeepPosition {
		if plan, _, err = b.count(ctx, tx, stood); err == nil {
			_, err = tx.Exec(ctx, b.keep, b.Group, at.facts.SystemIdentifier, at.facts.Incarnation)
		}
	} else {
		plan, adopted, err = b.startOver(ctx, tx, stood, at.facts.SystemIdentifier)
	}
	if err == nil {
		err = b.mayLeaveOut(plan)
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, b.fence, b.Group); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, b.recordNo); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, b.record, b.Group, b.Actor, b.Reason, b.KeepPosition, b.where(), adopted, plan.LeavesOut)
	return err
}

// where describes where the group starts over, for the audit.
func (b *rebase) where() string {
	if b.Unsettled {
		return "unsettled"
	}
	return b.Start.String()
}

// begin is the place at which the group starts over, in the terms of the statements: if that is
// the first message that is not settled, window 0 first holds everything.
func (b *rebase) begin() pgwindow.Begin {
	if b.Unsettled {
		return pgwindow.BeginAt
	}
	return beginOf(b.Start)
}

// mayLeaveOut refuses a rebase that would lose more messages than requested.
func (b *rebase) mayLeaveOut(plan RebasePlan) error {
	if plan.LeavesOut <= b.LeaveOut {
		return nil
	}
	return outbox.ConfigError("LeaveOut", b.LeaveOut, fmt.Sprintf(
		"must be at least %d: so many messages that group %q has not settled would never be sent; to send them, start over at the unsettled ones",
		plan.LeavesOut, b.Group))
}

// whereabouts is the progress of a server and its log.
type whereabouts struct {
	facts    pgwindow.Facts
	sequence int64
	nextXid  uint64 // the first that cannot have been assigned yet
}

// check returns an error if the request cannot be fulfilled on this server. It changes nothing.
func (b *rebase) check(ctx context.Context, tx pgx.Tx) (at whereabouts, err error) {
	if at.facts, err = b.ob.window.Facts(ctx, tx); err != nil {
		return at, err
	}
	var highest, nextXid int64
	if err := tx.QueryRow(ctx, b.facts).Scan(&highest, &nextXid); err != nil {
		return at, err
	}
	at.nextXid = uint64(nextXid) //nolint:gosec // xids are far below
	// The probe comes after highest was read, since producers go on.
	p, err := b.ob.window.Probe(ctx, tx, at.facts.Sequence, pgwindow.NoWindow())
	if err != nil {
		return at, err
	}
	if at.sequence = p.Sequence; at.sequence < highest {
		return at, basis.Refuse(basis.ErrWentBack, fmt.Sprintf("sequence at %d, log at %d: SELECT setval(%d::oid::regclass, %d)",
			at.sequence, highest, at.facts.Sequence, highest))
	}
	if b.KeepPosition {
		err = b.mayKeep(ctx, tx, at)
	}
	return at, err
}

// exclude keeps relays of the group away until the transaction ends: first the locks, then the
// check.
func (b *rebase) exclude(ctx context.Context, tx pgx.Tx) error {
	tag, err := tx.Exec(ctx, b.lock, b.Group)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return b.noGroup()
	}
	if _, err := tx.Exec(ctx, b.lockLeases, b.Group); err != nil {
		return err
	}
	return b.held(ctx, tx, nil)
}

func (b *rebase) noGroup() error {
	return outbox.ConfigError("Group", b.Group, "is not a group of this outbox")
}

// held returns a *driver.LeaseHeldError if a relay of the group has held a lease since the
// transaction began, except those of gone. What others have written is in the snapshot.
func (b *rebase) held(ctx context.Context, tx pgx.Tx, gone []string) error {
	var owner string
	var micros int64
	err := tx.QueryRow(ctx, b.holder, b.Group, append([]string{}, gone...)).Scan(&owner, &micros)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return &driver.LeaseHeldError{Owner: owner, Remaining: time.Duration(micros) * time.Microsecond}
}

// mayKeep returns an error unless the position can belong to this cluster.
func (b *rebase) mayKeep(ctx context.Context, tx pgx.Tx, at whereabouts) error {
	all, err := b.ob.chain.All(ctx, tx, b.Group)
	if err != nil {
		return err
	}
	for i := range all {
		err := cmp.Or(
			basis.Reached(basis.ErrWentBack, "number", all[i].SourceFloor, at.sequence),
			basis.Reached(basis.ErrOtherCluster, "transaction", all[i].Target.Xmax, at.nextXid),
		)
		if err != nil {
			return fmt.Errorf("the position cannot be kept: %w", err)
		}
	}
	return b.ob.chain.Contradicts(ctx, tx, b.Group)
}

// startOver deletes the position, and begins at the requested place. It returns what happens to
// the messages, and how many records had to be adopted. Their transaction ids are judged before
// that.
func (b *rebase) startOver(ctx context.Context, tx pgx.Tx, stood standing, cluster int64) (plan RebasePlan, adopted int64, err error) {
	if _, err := tx.Exec(ctx, b.forget, b.Group, b.Unsettled); err != nil {
		return plan, 0, err
	}
	if err := b.ob.chain.Begin(ctx, tx, b.Group, "rebase by "+b.Actor, b.at); err != nil {
		return plan, 0, err
	}
	plan, first, err := b.count(ctx, tx, stood)
	if err == nil && b.Unsettled {
		_, err = tx.Exec(ctx, b.first, b.Group, first)
	}
	if err != nil {
		return plan, 0, err
	}
	if _, err := tx.Exec(ctx, b.number, b.Group, cluster); err != nil {
		return plan, 0, err
	}
	tag, err := tx.Exec(ctx, b.adopt, b.Group, cluster)
	return plan, tag.RowsAffected(), err
}
