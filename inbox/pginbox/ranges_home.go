package pginbox

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/internal/pgerr"
)

// home is where an id is remembered. There is one for each id at any time, or the
// id could be in two places and run twice: the id and the stored cut-over decide.
type home struct {
	claim  string // the statement that claims it
	ranged bool
}

// home returns where id is remembered, as far as this connection knows. What it
// knows may be old. It does no harm: what is claimed in the wrong place meets a
// constraint or finds no range, and refresh is called then. The connection knows
// it rather than the process, for the reason that number gives.
func (k keys) home(ctx context.Context, conn *pgx.Conn, id pgtype.UUID) (home, error) {
	plain := home{claim: k.claim}
	if !timed(id) {
		return plain, nil
	}
	state, ok := conn.PgConn().CustomData()[k.memory()].(rangeState)
	if !ok {
		var err error
		if state, err = k.refresh(ctx, conn); err != nil {
			return home{}, err
		}
	}
	switch {
	case !state.switched() || below(id, state.cutover):
		return plain, nil
	case state.mode == modeDelete:
		return home{claim: k.claimAbove, ranged: true}, nil
	default:
		return home{claim: k.claimRange, ranged: true}, nil
	}
}

// refresh makes the connection learn where ids live. A schema that has no ranges yet,
// or a role that may not look, is one in which they are off: should they be on,
// the constraint on the plain table says so.
func (k keys) refresh(ctx context.Context, conn *pgx.Conn) (rangeState, error) {
	state, err := k.loadState(ctx, conn)
	if pgerr.Is(err, pgerr.UndefinedTable, pgerr.InsufficientPrivilege) {
		state, err = rangeState{mode: modeOff}, nil
	}
	if err == nil {
		conn.PgConn().CustomData()[k.memory()] = state
	}
	return state, err
}

// memory is the name under which a connection keeps the state.
func (k keys) memory() string {
	return "leat.inbox ranges " + k.table
}
