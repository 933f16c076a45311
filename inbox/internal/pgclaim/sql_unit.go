package pgclaim

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/txctx"
)

// sqlUnit is a driver.Unit of database/sql.
type sqlUnit struct {
	*sqlConn

	tx     *sql.Tx
	cancel context.CancelFunc // of the transaction's context
}

// Context implements driver.Unit.
func (u *sqlUnit) Context(ctx context.Context) context.Context {
	return txctx.With(ctx, u.tx)
}

// Commit implements driver.Unit. Closing the connection returns it to the pool, and fails only if
// it is broken, which has no bearing on the commit.
func (u *sqlUnit) Commit(ctx context.Context) error {
	defer u.release(ctx)()
	yes := false // the handler has ended it by a statement, which database/sql does not see
	_ = u.Use(func(conn *pgx.Conn) error {
		yes = ended(conn)
		return nil
	})
	err := u.tx.Commit()
	if yes && !errors.Is(err, sql.ErrTxDone) {
		return driver.ErrEnded
	}
	return ExplainCommit(err)
}

// Rollback implements driver.Unit.
func (u *sqlUnit) Rollback(ctx context.Context) error {
	defer u.release(ctx)()
	return u.end()
}

// end ends the transaction and keeps the connection.
func (u *sqlUnit) end() error {
	defer u.cancel()
	err := u.tx.Rollback()
	if errors.Is(err, sql.ErrTxDone) { // by the handler
		return nil
	}
	return err
}

// release bounds the following Commit or Rollback by ctx, since those of database/sql take no
// context. It returns the function that returns the connection to the pool.
func (u *sqlUnit) release(ctx context.Context) func() {
	stop := context.AfterFunc(ctx, u.cancel)
	return func() {
		stop()
		u.cancel()
		_ = u.Release()
	}
}
