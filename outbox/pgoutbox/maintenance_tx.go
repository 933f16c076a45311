package pgoutbox

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/wait"
)

// ddlTries bounds the tries of one change of the ranges in a round.
const ddlTries = 6

// errKept ends a transaction that found no reason to go on.
var errKept = errors.New("leat: range is kept")

// isBusy reports whether err will pass when producers have ended their transactions.
func isBusy(err error) bool {
	return pgerr.Is(err, pgerr.LockNotAvailable, pgerr.DeadlockDetected) || errors.Is(err, errOutrun)
}

// change runs fn in a READ COMMITTED transaction in which no wait for a lock exceeds LockTimeout.
// If one does, it backs off, so that producers go on, and tries again a few times.
func (m *Maintenance) change(ctx context.Context, fn func(pgx.Tx) error) error {
	pause := m.cfg.LockTimeout
	for try := 1; ; try++ {
		err := m.tx(ctx, fn)
		if !isBusy(err) || try == ddlTries || ctx.Err() != nil {
			return err
		}
		_ = wait.For(ctx, pause)
		pause = min(2*pause, 5*time.Second)
	}
}

// tx runs fn once, with the settings of a change.
func (m *Maintenance) tx(ctx context.Context, fn func(pgx.Tx) error) error {
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	return pgx.BeginTxFunc(ctx, m.ob.pool, opts, func(tx pgx.Tx) error {
		if err := m.settle(ctx, tx); err != nil {
			return err
		}
		return fn(tx)
	})
}

// settle bounds the waits of a transaction, and permits only plans that read rows in the order of
// an index: a plan that reads a whole range would do so under a lock, and a new range has no
// statistics that would prevent it.
func (m *Maintenance) settle(ctx context.Context, tx pgx.Tx) error {
	for name, value := range map[string]string{
		"lock_timeout":                        strconv.FormatInt(max(m.cfg.LockTimeout.Milliseconds(), 1), 10) + "ms",
		"statement_timeout":                   "60s",
		"idle_in_transaction_session_timeout": "60s",
		"jit":                                 "off",
		"enable_seqscan":                      "off",
		"enable_bitmapscan":                   "off",
		"row_security":                        "off", // unreadable values are an error, and do not count as settled
	} {
		if _, err := tx.Exec(ctx, "SELECT set_config($1, $2, true)", name, value); err != nil {
			return err
		}
	}
	return nil
}

// lockLog locks the log exclusively, and then one of its ranges, for which it does not wait: a
// reader of that range, such as vacuum, would keep every producer waiting behind the lock on the
// log for another LockTimeout. See design 10.5.
func (m *Maintenance) lockLog(ctx context.Context, tx pgx.Tx, table string) error {
	if _, err := tx.Exec(ctx, "LOCK TABLE ONLY "+m.ob.cfg.names().Qualified("")+" IN ACCESS EXCLUSIVE MODE"); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, m.ob.of(table, "LOCK TABLE {range} IN ACCESS EXCLUSIVE MODE NOWAIT"))
	return err
}

// read runs fn in a transaction with the settings of a change, for its plans.
func (m *Maintenance) read(ctx context.Context, fn func(pgx.Tx) error) error {
	return m.tx(ctx, fn)
}

// errNoTail is returned if the open-ended range was removed.
var errNoTail = errors.New("leat: the log has no open-ended range; producers will fail: attach one")
