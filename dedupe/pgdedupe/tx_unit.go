package pgdedupe

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/fullpool/fullpgx"
	"github.com/leat-go/leat/internal/txctx"
)

// Tx returns the transaction of the request whose handler got ctx, which is r.Context(). It is
// nil outside of one, and so for requests without a key.
//
// What is written in it commits together with the response. Its Commit returns
// an error; its Rollback makes the request fail. It must not be used
// after the handler has returned.
func Tx(ctx context.Context) pgx.Tx {
	tx, _ := txctx.As[pgx.Tx](ctx)
	return tx
}

// unit is a request on a connection of the pool.
type unit struct {
	store           *TxStore
	taken           fullpgx.Taken
	tx              pgx.Tx
	id, fingerprint string
}

var _ dedupe.TxUnit = (*unit)(nil)

// Context implements dedupe.TxUnit.
func (u *unit) Context(ctx context.Context) context.Context {
	return txctx.With(ctx, pgx.Tx(handlerTx{u.tx}))
}

// Commit implements dedupe.TxUnit. A COMMIT outside a transaction succeeds with a warning, and so
// would an INSERT, so Commit must check whether the handler has ended the transaction by a
// statement of its own.
func (u *unit) Commit(ctx context.Context, response []byte) (err error) {
	defer func() { release(ctx, &u.taken, err) }()
	if conn := u.taken.Conn; !conn.IsClosed() && conn.PgConn().TxStatus() == 'I' {
		err := u.tx.Rollback(ctx)
		if errors.Is(err, pgx.ErrTxClosed) { // by the handler's call of Rollback
			return fmt.Errorf("%w: %w", dedupe.ErrNotCommitted, err)
		}
		return errEndedInHandler
	}
	if conn := u.taken.Conn; !conn.IsClosed() && conn.PgConn().IsBusy() { // the pool closes the connection
		return fmt.Errorf("%w: %w", dedupe.ErrNotCommitted, errOpenRows)
	}
	tag, err := u.tx.Exec(ctx, u.store.sql.put,
		u.store.consumer, []byte(u.id), u.fingerprint, response, u.store.cfg.TTL.Microseconds(), clocks.Come())
	if err == nil && tag.RowsAffected() == 0 {
		err = errConflict
	}
	if err != nil { // nothing commits without it
		_ = u.tx.Rollback(ctx) // if it fails, the pool closes the connection
		return fmt.Errorf("%w: %w", dedupe.ErrNotCommitted, explain(err))
	}
	return explainCommit(u.tx.Commit(ctx))
}

// errOpenRows is the error of a handler that has left rows open.
var errOpenRows = errors.New("leat: the handler has left rows of a query open: close them, or read them with pgx.CollectRows")

// Rollback implements dedupe.TxUnit.
func (u *unit) Rollback(ctx context.Context) error {
	defer u.taken.Release()
	if err := u.tx.Rollback(ctx); !errors.Is(err, pgx.ErrTxClosed) { // by the handler
		return err
	}
	return nil
}

// handlerTx is the transaction as a handler gets it: everything but Commit.
type handlerTx struct {
	pgx.Tx
}

// Commit returns errCommitInHandler.
func (handlerTx) Commit(context.Context) error {
	return errCommitInHandler
}
