package pginbox

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/txctx"
)

// sqlUnit is a claimed message on a connection of database/sql.
type sqlUnit struct {
	conn   *sql.Conn
	tx     *sql.Tx
	cancel context.CancelFunc // of the transaction's context
}

var _ driver.Unit = (*sqlUnit)(nil)

// Context implements driver.Unit.
func (u *sqlUnit) Context(ctx context.Context) context.Context {
	return txctx.With(ctx, u.tx)
}

// Commit implements driver.Unit. Closing the connection gives it back, and fails
// only if it is broken, which says nothing about the commit.
func (u *sqlUnit) Commit(ctx context.Context) error {
	defer u.release(ctx)()
	ended := u.ended()
	err := u.tx.Commit()
	if ended && !errors.Is(err, sql.ErrTxDone) {
		return ErrEndedInHandler
	}
	return explainCommit(err)
}

// ended says whether the handler has ended the transaction by a statement of its
// own, which database/sql does not see.
func (u *sqlUnit) ended() (yes bool) {
	_ = u.conn.Raw(func(driverConn any) error {
		if c, ok := driverConn.(*stdlib.Conn); ok {
			yes = ended(c.Conn())
		}
		return nil
	})
	return yes
}

// Rollback implements driver.Unit.
func (u *sqlUnit) Rollback(ctx context.Context) error {
	defer u.release(ctx)()
	return u.rollback()
}

// rollback ends the transaction and keeps the connection.
func (u *sqlUnit) rollback() error {
	defer u.cancel()
	err := u.tx.Rollback()
	if errors.Is(err, sql.ErrTxDone) { // by the handler
		return nil
	}
	return err
}

// release bounds what follows by ctx, since database/sql's Commit and Rollback
// take none, and returns what gives the connection back.
func (u *sqlUnit) release(ctx context.Context) func() {
	stop := context.AfterFunc(ctx, u.cancel)
	return func() {
		stop()
		u.cancel()
		_ = u.conn.Close()
	}
}
