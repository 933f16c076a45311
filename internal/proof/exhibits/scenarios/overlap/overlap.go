// Package overlap runs two transactions of one key at the same time. It arranges which of them
// commits first. The exhibits observe whether the events arrive in that order.
package overlap

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
)

// Publish writes an event with this id in tx.
type Publish func(ctx context.Context, tx pgx.Tx, id string) error

// Key is the key of the row, which is also the key of both events.
const (
	Key = "account-1"

	early = "event of the one that began first"
	late  = "event of the one that began last"
)

const tables = `
	CREATE TABLE IF NOT EXISTS accounts (id text PRIMARY KEY, says text);
	CREATE TABLE IF NOT EXISTS audit (note text);
	INSERT INTO accounts VALUES ('` + Key + `', NULL) ON CONFLICT DO NOTHING`

const writeRow = `UPDATE accounts SET says = $2 WHERE id = $1`

// AuditFirst runs writers that lock the row before they write their event, as they should. The one that
// began first has written something else before, so that it has the lower transaction id, and it commits
// last. AuditFirst returns the committed events in the order of their commits.
func AuditFirst(ctx context.Context, bed *testbed.Testbed, publish Publish) ([]exhibit.Event, error) {
	err := begin(ctx, bed, func(first pgx.Tx) error {
		if _, err := first.Exec(ctx, `INSERT INTO audit VALUES ('begun')`); err != nil {
			return err
		}
		bed.Say("  the first transaction has begun, and written into another table")
		err := pgx.BeginFunc(ctx, bed.Pool, func(second pgx.Tx) error { return rowThenEvent(ctx, second, late, publish) })
		if err != nil {
			return err
		}
		bed.Say("  the second one has locked the row, written its event, and committed")
		return rowThenEvent(ctx, first, early, publish)
	})
	bed.Say("  now the first one has done so")
	return []exhibit.Event{{ID: late, Key: Key}, {ID: early, Key: Key}}, errors.Join(err, tellRow(ctx, bed))
}

// EventFirst runs writers that write their event before they write the row. The one that began last
// commits first, unless it must wait for the other. EventFirst returns the committed events in the order
// of their commits.
func EventFirst(ctx context.Context, bed *testbed.Testbed, publish Publish) ([]exhibit.Event, error) {
	committed := []exhibit.Event{{ID: late, Key: Key}, {ID: early, Key: Key}}
	var ended <-chan error
	err := begin(ctx, bed, func(first pgx.Tx) error {
		if err := publish(ctx, first, early); err != nil {
			return err
		}
		bed.Say("  the first transaction has written its event")
		var waits bool
		var err error
		waits, ended, err = inParallel(ctx, bed, func(second pgx.Tx) error {
			if err := publish(ctx, second, late); err != nil {
				return err
			}
			_, err := second.Exec(ctx, writeRow, Key, late)
			return err
		})
		if waits {
			bed.Say("  the second one waits for it")
			committed[0], committed[1] = committed[1], committed[0]
		} else {
			bed.Say("  the second one has written its event and the row, and committed")
		}
		if err == nil {
			_, err = first.Exec(ctx, writeRow, Key, early)
		}
		return err
	})
	bed.Say("  the first one has written the row and committed")
	if ended != nil {
		err = errors.Join(err, <-ended)
	}
	return committed, errors.Join(err, tellRow(ctx, bed))
}

func rowThenEvent(ctx context.Context, tx pgx.Tx, event string, publish Publish) error {
	if _, err := tx.Exec(ctx, writeRow, Key, event); err != nil {
		return err
	}
	return publish(ctx, tx, event)
}

// begin creates the tables and runs fn in a transaction.
func begin(ctx context.Context, bed *testbed.Testbed, fn func(tx pgx.Tx) error) error {
	if _, err := bed.Pool.Exec(ctx, tables); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, bed.Pool, fn)
}

// inParallel runs fn in a transaction. It returns when the transaction has ended or waits for a lock.
// ended receives the result of the transaction.
func inParallel(ctx context.Context, bed *testbed.Testbed, fn func(tx pgx.Tx) error) (waits bool, ended <-chan error, err error) {
	conn, err := bed.Pool.Acquire(ctx)
	if err != nil {
		return false, nil, err
	}
	pid := conn.Conn().PgConn().PID()
	outcome := make(chan error, 1)
	over := make(chan struct{})
	go func() {
		defer conn.Release()
		defer close(over)
		outcome <- pgx.BeginFunc(ctx, conn, fn)
	}()
	err = testbed.Until(ctx, func(ctx context.Context) (bool, error) {
		select {
		case <-over:
			return true, nil
		default:
		}
		err := bed.Pool.QueryRow(ctx, `SELECT coalesce(wait_event_type = 'Lock', false) FROM pg_stat_activity WHERE pid = $1`, pid).
			Scan(&waits)
		return waits, err
	})
	return waits, outcome, err
}

// tellRow prints which event the row agrees with: that of the transaction that committed last.
func tellRow(ctx context.Context, bed *testbed.Testbed) error {
	var says string
	err := bed.Pool.QueryRow(ctx, `SELECT says FROM accounts WHERE id = $1`, Key).Scan(&says)
	bed.Say("  the row agrees with the %s", says)
	return err
}
