package pginbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox"
)

// place is where an id is remembered. At any time each id has exactly one place, decided by the
// id and the stored cut-over. Otherwise an id could be in two places, and its message could run
// twice.
type place int

const (
	plain      place = iota // the plain table
	inRange                 // a range, which is dropped as a whole
	aboveFloor              // the one range of an inbox that deletes
	places                  // number of places
)

// placer finds the places of ids. Its answer may be outdated. That does no harm: a claim in the
// wrong place meets a constraint or finds no range, and moved is called.
type placer interface {
	// place returns where id is remembered, as far as conn knows.
	place(ctx context.Context, conn *pgx.Conn, id pgtype.UUID) (place, error)
	// moved returns nil if the claim of id, which a constraint has refused, must be tried again: conn has
	// learned the place of id, or its range was created. Otherwise it returns why id cannot be claimed;
	// refusal is the server's error. Conn is not in a transaction.
	moved(ctx context.Context, conn *pgx.Conn, id pgtype.UUID, refusal error) error
}

var (
	// errSwitching is returned for a message whose place is being moved: Enable was interrupted.
	// Call it again, or let maintenance run.
	errSwitching = errors.New("leat: the inbox is being switched to ranges")

	// errNoRange is returned if the range of a message is missing and could not be created, for
	// lack of a privilege or of a lock. Maintenance creates it.
	errNoRange = errors.New("leat: the inbox has no range for the message")
)

// place implements placer. The state is kept per connection, not per process, for the reason
// given at pgclaim.Consumer.
func (r *ranges) place(ctx context.Context, conn *pgx.Conn, id pgtype.UUID) (place, error) {
	if !timed(id) {
		return plain, nil
	}
	state, ok := conn.PgConn().CustomData()[r.memory].(rangeState)
	if !ok {
		var err error
		if state, err = r.refresh(ctx, conn); err != nil {
			return plain, err
		}
	}
	switch {
	case !state.switched() || below(id, state.cutover):
		return plain, nil
	case state.mode == modeDelete:
		return aboveFloor, nil
	default:
		return inRange, nil
	}
}

// refresh makes the connection read the state of the ranges. If the schema has no ranges yet, or
// the role may not read the state, ranges count as off: if they are in fact on, the constraint on
// the plain table refuses the claim.
func (r *ranges) refresh(ctx context.Context, conn *pgx.Conn) (rangeState, error) {
	state, err := r.load(ctx, conn)
	if pgerr.Is(err, pgerr.UndefinedTable, pgerr.InsufficientPrivilege) {
		state, err = rangeState{mode: modeOff}, nil
	}
	if err == nil {
		conn.PgConn().CustomData()[r.memory] = state
	}
	return state, err
}

// moved implements placer. It decides nothing silently.
func (r *ranges) moved(ctx context.Context, conn *pgx.Conn, id pgtype.UUID, refusal error) error {
	state, err := r.refresh(ctx, conn)
	switch {
	case err != nil:
		return pgclaim.Explain(err)
	case !timed(id), state.mode == modeOff:
		return refusal // not a constraint of the inbox
	case state.mode == modePending:
		return fmt.Errorf("%w: %w", errSwitching, refusal)
	case below(id, state.cutover):
		return nil
	case below(id, state.floor):
		return inbox.Permanent(fmt.Errorf("%w: made at %s, remembered from %s", driver.ErrTooOld,
			madeAt(id).Format(time.RFC3339), madeAt(state.floor).Format(time.RFC3339)))
	case state.mode == modeDelete:
		return nil
	}
	if ahead := madeAt(id).Sub(time.UnixMilli(state.now)); ahead > r.maxAhead {
		return inbox.Permanent(fmt.Errorf("%w: made at %s, ahead of the database's clock by %s, more than the %s that are allowed",
			driver.ErrTooNew, madeAt(id).Format(time.RFC3339), ahead.Round(time.Millisecond), r.maxAhead))
	}
	made, err := r.makeFor(ctx, conn, id)
	if err != nil {
		return fmt.Errorf("%w made at %s: %w", errNoRange, madeAt(id).Format(time.RFC3339), err)
	}
	if made.Name != "" {
		r.alarm(ctx, outbox.AlarmEvent{Kind: AlarmRangeMissing, Attrs: []slog.Attr{rangeAttr(made)}})
	}
	return nil
}
