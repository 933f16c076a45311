package pgwindow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

// Chain stores the positions of a group that reads its log in slots. A slot has the rows whose
// shard, modulo the number of slots, is the slot's number.
//
// # One chain for all slots
//
// Each slot has its own window rows, under its own lease. They share the snapshots: the slot that
// opens window k+1 leads, and the others copy its target and its F. A slot that is behind goes to
// the newest window at once, and then reads all rows that the newest target sees and its own last
// target does not. Any increasing run of snapshots would give each slot all its rows once, in
// order. The slots share one chain so that their number can be changed.
//
// The proof of the floor (see the package comment) holds for a slot that follows: its next_floor
// is the F of chain window k-1, whose transaction had committed before T(k) was taken, whichever
// slots have opened the windows: a slot opens window k after it has seen a committed row of
// window k-1. Rows are written without waiting for the disk. Still, no row survives a crash
// without the row that it was copied from, whose commit comes first in the server's log.
//
// # Changing the number of slots
//
// The change is a marker: an empty window, with the snapshot and the floors of the one before it,
// that carries the new number. Two slots cannot lead the same window, so either the marker is the
// next window, or another window is and the marker comes later. No slot reads beyond the marker's
// snapshot S before the change is complete: a statement that takes a further window checks that
// the group has the number of slots in the window before it.
//
// A slot takes the marker only when it is at S itself, with all its rows up to S settled; that
// remains true if a fenced-off owner writes it. When every old slot has done so, and none of
// their leases is live, the change is complete: the group has the new number, every new slot has
// a row at the marker, and all epochs are raised.
//
// No loss (O2): a row that S sees belongs to a window of the old slot of its shard, which was
// settled before; a row that S does not see is ahead of the new slot of its shard, whose first
// window begins at S. Order (O5): if S sees only the first of two rows of a key, that row was
// acknowledged before any new slot could begin; otherwise one slot reads both, in the order of
// windows and, within a window, of numbers. What a former owner still sends late is a repeat. See
// design 8.1.
type Chain struct {
	group, list                          string
	beginOldest, beginNow, beginAt, mark string
	load, all, probe, probeDue           string
	open, next                           string
	complete                             string
	claim, claimRows, holder, look       string
	before, contradicts, adopt           string
	timeline                             string
}

// PrepareChain renders the statements for the log called names.Table and its leases, positions
// and groups.
func PrepareChain(names pgmigrate.Names) (*Chain, error) {
	var back, due string
	asItIs := func(sql string) (string, error) { return sql, nil }
	if err := sqlfile.Load(files, asItIs, map[string]*string{"back": &back, "due": &due}); err != nil {
		return nil, err
	}
	c := &Chain{}
	for probe, due := range map[*string]string{&c.probe: "NULL::bigint", &c.probeDue: due} {
		if err := sqlfile.Load(files, with(names, "{due}", due), map[string]*string{"chain_probe": probe}); err != nil {
			return nil, err
		}
	}
	return c, sqlfile.Load(files, with(names, "{back}", back), map[string]*string{
		"chain_group":        &c.group,
		"chain_list":         &c.list,
		"chain_begin_oldest": &c.beginOldest,
		"chain_begin_now":    &c.beginNow,
		"chain_begin_at":     &c.beginAt,
		"chain_mark":         &c.mark,
		"chain_load":         &c.load,
		"chain_all":          &c.all,
		"open":               &c.open,
		"chain_next":         &c.next,
		"chain_complete":     &c.complete,
		"chain_claim":        &c.claim,
		"chain_claim_rows":   &c.claimRows,
		"chain_holder":       &c.holder,
		"chain_look":         &c.look,
		"chain_before":       &c.before,
		"chain_contradicts":  &c.contradicts,
		"chain_adopt":        &c.adopt,
		"chain_timeline":     &c.timeline,
	})
}

// Group is the stored state of a group.
type Group struct {
	// Listed is set if the group is known, Started if it has a position.
	Listed, Started bool
	// Slots is the number of its slots, Next the number that it is being changed to, or 0.
	Slots, Next int16
	// Topics are the patterns of the topics that it reads; nil for all.
	Topics []string
	// Incarnation is the incarnation of the log that its position belongs to, 0 if not recorded yet.
	Incarnation int64
	// Renamed is the group's new name, empty if it was not renamed.
	Renamed string
}

// Group returns the stored state of a group.
func (c *Chain) Group(ctx context.Context, db Querier, group string) (Group, error) {
	var g Group
	err := db.QueryRow(ctx, c.group, group).Scan(&g.Listed, &g.Slots, &g.Next, &g.Topics, &g.Incarnation, &g.Started, &g.Renamed)
	return g, err
}

// List lists a group that is not listed yet, with the given number of slots; with one slot if it
// has a position already.
func (c *Chain) List(ctx context.Context, db Querier, group string, slots int16, topics []string) error {
	_, err := db.Exec(ctx, c.list, group, slots, topics)
	return err
}

// Load returns the newest window of slot, the number of slots of its group and the log that the
// group's position belongs to (0: not recorded), or pgx.ErrNoRows if it has none.
func (c *Chain) Load(ctx context.Context, db Querier, slot pglease.Slot) (w Window, slots int16, incarnation int64, err error) {
	var of int16
	var leads bool
	w, err = scanWindow(db.QueryRow(ctx, c.load, slot.Group, slot.No), &of, &leads, &slots, &incarnation)
	w.Slots, w.Leads = of, leads
	return w, slots, incarnation, err
}

// RowsQuerier is a Querier that can return many rows.
type RowsQuerier interface {
	Querier
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// All returns the newest window of every slot of group that has one.
func (c *Chain) All(ctx context.Context, db RowsQuerier, group string) ([]Window, error) {
	rows, err := db.Query(ctx, c.all, group)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Window, error) { return scanChainWindow(row) })
}

func scanChainWindow(row pgx.Row) (Window, error) {
	var slots int16
	var leads bool
	w, err := scanWindow(row, &slots, &leads)
	w.Slots, w.Leads = slots, leads
	return w, err
}

// Beside is what a probe of a chain has found in addition to the state of the log.
type Beside struct {
	// Changing is set while the number of slots is being changed.
	Changing bool
	// Paused are the patterns of the topics that are paused.
	Paused []string
	// NoneHeld is set if the group has nothing set aside.
	NoneHeld bool
	// Due is when the next delayed message is due, counted from the probe; nil if there is none, or it
	// was not asked for.
	Due *time.Duration
}

// Probe is Statements.Probe that also returns Beside, with delayed messages if due is set. It
// returns basis.ErrLogRestarted if the log is no longer that of facts. Rows count as new even if
// the sequence has not moved: it could have been set back.
func (c *Chain) Probe(ctx context.Context, db Querier, facts Facts, group string, w Window, due bool) (p Probe, b Beside, err error) {
	sql := c.probe
	if due {
		sql = c.probeDue
	}
	var standby bool
	var incarnation int64
	var unseen *bool
	var micros *int64
	err = db.QueryRow(ctx, sql, facts.Sequence, w.Target.Text, group, w.SourceFloor).
		Scan(&p.Sequence, &p.Ended, &standby, &b.Changing, &incarnation, &unseen, &b.Paused, &b.NoneHeld, &micros)
	switch {
	case err != nil:
		return Probe{}, Beside{}, err
	case standby:
		return Probe{}, Beside{}, ErrStandby
	}
	p.Unseen = unseen != nil && *unseen
	if micros != nil {
		in := time.Duration(*micros) * time.Microsecond
		b.Due = &in
	}
	return p, b, cmp.Or(basis.Same(basis.ErrLogRestarted, sequenceFile, fileOf(facts.Incarnation), fileOf(incarnation)), p.reaches(w))
}

// Open finishes window w of l's slot and opens the next, for a chain of one slot. All of w must
// be settled. f is Probe.Sequence. It returns driver.ErrLeaseLost if the lease or the window is
// not what the caller expects, and basis.ErrNumberedTwice if the log's sequence was set back, so
// that rows of the next window could be below its floor.
func (c *Chain) Open(ctx context.Context, db Querier, l pglease.Lease, w Window, f int64) (Window, error) {
	next, err := scanWindow(db.QueryRow(ctx, c.open, l.Slot.Group, l.Slot.No, w.No, f, l.Owner, l.Epoch))
	switch {
	case err == nil:
		next.Slots = 1
		return next, nil
	case errors.Is(err, pgx.ErrNoRows):
		if err := c.Contradicts(ctx, db, l.Slot.Group, l.Slot.No); err != nil {
			return Window{}, err
		}
		return Window{}, cannotFollow(w)
	case pgerr.Is(err, pgerr.UniqueViolation):
		return Window{}, cannotFollow(w)
	default:
		return Window{}, err
	}
}

// Next finishes window w of l's slot and takes the next window of the chain: a window that
// another slot has opened, a marker, or a window that Next opens. All of w must be settled.
// f is Probe.Sequence. A window whose Slots are not those of w is a marker.
// It returns the errors of Open.
func (c *Chain) Next(ctx context.Context, db Querier, l pglease.Lease, w Window, f int64) (Window, error) {
	for range 3 { // once more, since another slot has created the same window in the meantime
		next, err := scanChainWindow(db.QueryRow(ctx, c.next, l.Slot.Group, l.Slot.No, w.No, f, l.Owner, l.Epoch))
		switch {
		case err == nil:
			return next, nil
		case pgerr.Is(err, pgerr.UniqueViolation):
			return Window{}, cannotFollow(w)
		case !errors.Is(err, pgx.ErrNoRows):
			return Window{}, err
		}
		if err := c.Contradicts(ctx, db, l.Slot.Group, l.Slot.No); err != nil {
			return Window{}, err
		}
	}
	return Window{}, cannotFollow(w)
}

func cannotFollow(w Window) error {
	return fmt.Errorf("%w: window %d cannot be followed", driver.ErrLeaseLost, w.No)
}

// Complete completes the change of the slots of group if all of them have reached its marker and
// none is leased, and reports whether it did.
func (c *Chain) Complete(ctx context.Context, db Querier, group string) (bool, error) {
	var done int
	err := db.QueryRow(ctx, c.complete, group).Scan(&done)
	return done > 0, err
}
