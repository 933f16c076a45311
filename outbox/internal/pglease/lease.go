package pglease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/driver"
)

// Slot is what can be leased: a slot of a relay group.
type Slot struct {
	Group string
	No    int16
}

// Lease is the right to a slot. Owner is one incarnation of one claimant, so that two owners can
// be told apart even if a crashed server forgot an epoch and issued it twice.
type Lease struct {
	Slot  Slot
	Owner string
	Epoch int64
}

// Claim takes the lease of slot for owner. It does not wait: while another owner holds the lease
// it returns a *driver.LeaseHeldError. A lease held by one of former is taken over, unless any of
// them is still running. The claim is committed synchronously whatever the session's setting.
func (s *Statements) Claim(ctx context.Context, db Beginner, slot Slot, owner string, former Former, ttl time.Duration) (Lease, error) {
	l := Lease{Slot: slot, Owner: owner}
	prefix := former.NamePrefix()
	if len(former.Running) > 0 {
		prefix = nil
	}
	err := Synchronously(ctx, db, func(tx pgx.Tx) error {
		claim := func() error {
			return tx.QueryRow(ctx, s.claim, slot.Group, slot.No, owner, prefix, ttl.Microseconds(), former.Last).Scan(&l.Epoch)
		}
		err := claim()
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		tag, err := tx.Exec(ctx, s.claimRow, slot.Group, slot.No)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return Held(ctx, func() pgx.Row { return tx.QueryRow(ctx, s.holder, slot.Group, slot.No) })
		}
		return claim()
	})
	return l, err
}

// Synchronously runs claim in a transaction whose commit waits for the disk, whatever the
// session's setting: an epoch that a crash forgets would be issued again.
func Synchronously(ctx context.Context, db Beginner, claim func(tx pgx.Tx) error) error {
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	return pgx.BeginTxFunc(ctx, db, opts, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
			return err
		}
		return claim(tx)
	})
}

// namedWithin bounds how long Held tries to find the holder's name, and namedEvery is the
// interval.
const (
	namedWithin = 50 * time.Millisecond
	namedEvery  = 5 * time.Millisecond
)

// Held returns a *driver.LeaseHeldError that names the holder in the row that ask returns: its
// name and for how many microseconds more it holds the lease. A rival that has just claimed it is
// not visible before it commits, so Held asks again for a while. After that, the holder is
// reported as unknown.
func Held(ctx context.Context, ask func() pgx.Row) error {
	for began := time.Now(); ; {
		var held driver.LeaseHeldError
		var micros int64
		if err := ask().Scan(&held.Owner, &micros); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		held.Remaining = time.Duration(micros) * time.Microsecond
		if isMarked(held.Owner) {
			held.Retry = Retry
		}
		if held.Owner != "" || time.Since(began) >= namedWithin || wait.For(ctx, namedEvery) != nil {
			return &held
		}
	}
}

// Lost returns an error that wraps driver.ErrLeaseLost and names the lease.
func (l Lease) Lost() error {
	return fmt.Errorf("%w: epoch %d of %s", driver.ErrLeaseLost, l.Epoch, l.Owner)
}

// Renew extends the lease to ttl from now, or returns driver.ErrLeaseLost.
func (s *Statements) Renew(ctx context.Context, db Querier, l Lease, ttl time.Duration) error {
	tag, err := db.Exec(ctx, s.renew, l.Slot.Group, l.Slot.No, l.Owner, l.Epoch, ttl.Microseconds())
	if err == nil && tag.RowsAffected() == 0 {
		return l.Lost()
	}
	return err
}

// Release releases the lease. Releasing a lost lease changes nothing.
func (s *Statements) Release(ctx context.Context, db Querier, l Lease) error {
	_, err := db.Exec(ctx, s.release, l.Slot.Group, l.Slot.No, l.Owner, l.Epoch)
	return err
}

// giveBackTimeout bounds GiveBack.
const giveBackTimeout = 2 * time.Second

// GiveBack releases a lease that was claimed and is no longer used, so that others need not wait
// for it to expire. It works although ctx has ended, and logs a failure.
func (s *Statements) GiveBack(ctx context.Context, db Querier, l Lease, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	if err := s.Release(ctx, db, l); err != nil {
		log.WarnContext(ctx, "lease not given back, it will run out", slog.Any("error", err))
	}
}
