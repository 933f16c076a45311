package pginbox

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/txctx"
)

// poolUnit is a claimed message on a connection of the pool.
type poolUnit struct {
	conn *pgxpool.Conn
	tx   pgx.Tx
}

var _ driver.Unit = (*poolUnit)(nil)

// Context implements driver.Unit.
func (u *poolUnit) Context(ctx context.Context) context.Context {
	return txctx.With(ctx, pgx.Tx(handlerTx{u.tx}))
}

// Commit implements driver.Unit. A COMMIT outside a transaction succeeds with a
// warning, so a transaction that the handler has ended by a statement of its own
// has to be looked for.
func (u *poolUnit) Commit(ctx context.Context) error {
	defer u.conn.Release()
	ended := ended(u.conn.Conn())
	err := u.tx.Commit(ctx)
	if ended && !errors.Is(err, pgx.ErrTxClosed) {
		return ErrEndedInHandler
	}
	return explainCommit(err)
}

// ended says whether conn lives and is in no transaction.
func ended(conn *pgx.Conn) bool {
	return !conn.IsClosed() && conn.PgConn().TxStatus() == 'I'
}

// Rollback implements driver.Unit.
func (u *poolUnit) Rollback(ctx context.Context) error {
	defer u.conn.Release()
	err := u.tx.Rollback(ctx)
	if errors.Is(err, pgx.ErrTxClosed) { // by the handler
		return nil
	}
	return err
}

// handlerTx is the transaction as a handler gets it: everything but Commit. Once
// rolled back it takes no more statements, and the delivery fails.
type handlerTx struct {
	pgx.Tx
}

// Commit returns ErrCommitInHandler.
func (handlerTx) Commit(context.Context) error {
	return ErrCommitInHandler
}
