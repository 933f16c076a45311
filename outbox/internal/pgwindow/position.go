package pgwindow

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

// Querier runs one statement; *pgx.Conn and *pgxpool.Pool are Queriers.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Window is the newest window of a slot, as stored.
type Window struct {
	No           int64
	Prev, Target Snapshot
	// Floor: rows of this window at or below it belong to transactions that were in progress in
	// Prev.
	Floor int64
	// NextFloor is the floor of the window after this one, SourceFloor that of
	// the one after that.
	NextFloor, SourceFloor int64
	// Last: rows of this window up to here are settled.
	Last int64
	// OpenedBy is the transaction that inserted the window.
	OpenedBy uint64
	// SystemIdentifier is the identifier of the cluster that the window belongs to.
	SystemIdentifier int64
	// Slots is the number of slots of the chain from this window on. See Chain; 0 if the window
	// was read without a Chain.
	Slots int16
	// Leads is set if the slot has opened the window itself, instead of following another slot to
	// it.
	Leads bool
}

// Empty reports whether no row can be in the window.
func (w Window) Empty() bool {
	return w.Prev.Text == w.Target.Text
}

// HasEarly reports whether a transaction that was in progress in Prev ended within this window,
// so that rows at or below the floor may belong to it.
func (w Window) HasEarly() bool {
	return w.Floor > 0 && w.Prev.EndedBy(w.Target)
}

// Probe is the result of a cheap look for something new.
type Probe struct {
	// Sequence is the log's last number, 0 if none was drawn.
	Sequence int64
	// Ended is set if a transaction that was in progress in the window's target has ended.
	Ended bool
	// Unseen is set if a row of a transaction at or above the xmax of the window's target is
	// visible. It is only checked if Sequence is the window's SourceFloor.
	Unseen bool
}

// New reports whether rows may have become visible that do not belong to any window up to w.
func (p Probe) New(w Window) bool {
	if p.Sequence != w.SourceFloor || p.Ended || p.Unseen {
		return true
	}
	return w.SourceFloor != w.NextFloor && w.OpenedBy > w.Target.Xmax
}

// Load returns the newest window of slot, or pgx.ErrNoRows if the group has none.
func (s *Statements) Load(ctx context.Context, db Querier, slot pglease.Slot) (Window, error) {
	return scanWindow(db.QueryRow(ctx, s.load, slot.Group, slot.No))
}

// Start stores window 0 of a new group: empty, with all retained rows ahead. f is the sequence's
// value, read before.
func (s *Statements) Start(ctx context.Context, db Querier, l pglease.Lease, f, systemIdentifier int64) error {
	_, err := db.Exec(ctx, s.start, l.Slot.Group, l.Slot.No, f, l.Owner, l.Epoch, systemIdentifier)
	return err
}

// Probe looks for something new past w. It must run in autocommit, and before
// Open in any case.
func (s *Statements) Probe(ctx context.Context, db Querier, sequence uint32, w Window) (Probe, error) {
	var p Probe
	var standby bool
	err := db.QueryRow(ctx, s.probe, sequence, w.Target.Text).Scan(&p.Sequence, &p.Ended, &standby)
	switch {
	case err != nil:
		return Probe{}, err
	case standby:
		return Probe{}, ErrStandby
	}
	return p, p.reaches(w)
}

// reaches checks that the log's numbers are not behind those in w.
func (p Probe) reaches(w Window) error {
	return basis.Reached(basis.ErrWentBack, "number", w.SourceFloor, p.Sequence)
}

// Open finishes window w and opens the next. All of w must be settled. f is Probe.Sequence. It
// returns driver.ErrLeaseLost if the lease or the window is not what the caller expects.
func (s *Statements) Open(ctx context.Context, db Querier, l pglease.Lease, w Window, f int64) (Window, error) {
	next, err := scanWindow(db.QueryRow(ctx, s.open, l.Slot.Group, l.Slot.No, w.No, f, l.Owner, l.Epoch))
	if errors.Is(err, pgx.ErrNoRows) || pgerr.Is(err, pgerr.UniqueViolation) {
		return Window{}, cannotFollow(w)
	}
	return next, err
}

// Raise stores f, which is Probe.Sequence, as the F of w before the next window is opened.
// All of w must be settled. It returns driver.ErrLeaseLost if nothing was changed.
func (s *Statements) Raise(ctx context.Context, db Querier, l pglease.Lease, w, f int64) error {
	tag, err := db.Exec(ctx, s.raise, l.Slot.Group, l.Slot.No, w, f, l.Owner, l.Epoch)
	if err == nil && tag.RowsAffected() == 0 {
		return fmt.Errorf("%w: window %d cannot be raised to %d", driver.ErrLeaseLost, w, f)
	}
	return err
}

// Advance stores that rows of w up to last are settled. It only moves forward. It returns
// driver.ErrLeaseLost if nothing was changed.
func (s *Statements) Advance(ctx context.Context, db Querier, l pglease.Lease, w, last int64) error {
	tag, err := db.Exec(ctx, s.advance, l.Slot.Group, l.Slot.No, w, last, l.Owner, l.Epoch)
	if err == nil {
		err = advanced(tag, w, last)
	}
	return err
}

// advanced checks that a row was changed.
func advanced(tag pgconn.CommandTag, w, last int64) error {
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("%w: window %d cannot advance to %d", driver.ErrLeaseLost, w, last)
	}
	return nil
}

// scanWindow reads a window, and the row's further columns into more.
func scanWindow(row pgx.Row, more ...any) (Window, error) {
	var w Window
	var prev, target, openedBy string
	err := row.Scan(append([]any{
		&w.No, &prev, &target, &w.Floor, &w.NextFloor, &w.SourceFloor, &w.Last, &openedBy, &w.SystemIdentifier,
	}, more...)...)
	if err != nil {
		return Window{}, err
	}
	if w.Prev, err = ParseSnapshot(prev); err != nil {
		return Window{}, err
	}
	if w.Target, err = ParseSnapshot(target); err != nil {
		return Window{}, err
	}
	if w.OpenedBy, err = strconv.ParseUint(openedBy, 10, 64); err != nil {
		return Window{}, fmt.Errorf("leat: window %d opened by %q: %w", w.No, openedBy, err)
	}
	return w, nil
}

// NoWindow is used for the probe of a group that has no window yet: it sees nothing.
func NoWindow() Window {
	nothing := Snapshot{Text: "3:3:", Xmax: 3}
	return Window{Prev: nothing, Target: nothing}
}
