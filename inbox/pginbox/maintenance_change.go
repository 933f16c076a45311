package pginbox

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/wait"
)

// changeTries bounds the tries of one change in a round.
const changeTries = 6

// change runs fn in a READ COMMITTED transaction in which no wait for a lock exceeds LockTimeout.
// If one does, it backs off, so that claims can continue, and tries again a few times.
func (m *Maintenance) change(ctx context.Context, fn func(pgx.Tx) error) error {
	pause := m.cfg.LockTimeout
	for try := 1; ; try++ {
		err := m.tx(ctx, fn)
		if !pgerr.Is(err, pgerr.LockNotAvailable) || try == changeTries || ctx.Err() != nil {
			return err
		}
		_ = wait.For(ctx, pause)
		pause = min(2*pause, 5*time.Second)
	}
}

func (m *Maintenance) tx(ctx context.Context, fn func(pgx.Tx) error) error {
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	return pgx.BeginTxFunc(ctx, m.pool, opts, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '"+millis(m.cfg.LockTimeout)+"'"); err != nil {
			return err
		}
		return fn(tx)
	})
}

// outside runs a statement that must not be in a transaction, waiting for locks no
// longer than timeout.
func (m *Maintenance) outside(ctx context.Context, timeout time.Duration, sql string) error {
	return m.pool.Use(ctx, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "SET lock_timeout = '"+millis(timeout)+"'"); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, sql)
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), pgclaim.CleanUpTimeout)
		defer cancel()
		if _, resetErr := conn.Exec(bounded, "RESET lock_timeout"); resetErr != nil {
			return errors.Join(err, resetErr, conn.Close(bounded)) // so that the pool does not keep it
		}
		return err
	})
}

func millis(d time.Duration) string {
	return strconv.FormatInt(max(d.Milliseconds(), 1), 10) + "ms"
}
