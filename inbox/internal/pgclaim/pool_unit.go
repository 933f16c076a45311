package pgclaim

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/txctx"
)

// PgxUnit is a driver.Unit of pgx.
type PgxUnit struct {
	*PgxConn

	Tx pgx.Tx
}

// Context implements driver.Unit.
func (u *PgxUnit) Context(ctx context.Context) context.Context {
	return txctx.With(ctx, pgx.Tx(handlerTx{u.Tx}))
}

// Commit implements driver.Unit. A COMMIT outside a transaction succeeds with a
// warning, so a transaction that the handler has ended by a statement of its own
// has to be looked for.
func (u *PgxUnit) Commit(ctx context.Context) error {
	defer u.Taken.Release()
	if !u.Conn.IsClosed() && u.Conn.PgConn().IsBusy() { // the pool closes the connection
		return fmt.Errorf("%w: %w", driver.ErrNotCommitted, ErrOpenRows)
	}
	ended := ended(u.Conn)
	err := u.Tx.Commit(ctx)
	if ended && !errors.Is(err, pgx.ErrTxClosed) {
		return driver.ErrEnded
	}
	return ExplainCommit(err)
}

// ended reports whether conn lives and is in no transaction.
func ended(conn *pgx.Conn) bool {
	return !conn.IsClosed() && !InTx(conn)
}

// Rollback implements driver.Unit.
func (u *PgxUnit) Rollback(ctx context.Context) error {
	defer u.Taken.Release()
	err := u.Tx.Rollback(ctx)
	if errors.Is(err, pgx.ErrTxClosed) { // by the handler
		return nil
	}
	return err
}
