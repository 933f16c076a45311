package sqldedupe

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/internal/records"
	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
)

// tries is how often a step is run if the database aborts it in favour of another transaction.
// Running a step again does no harm.
const tries = 5

// The states of a row. One without a state was inserted only to be locked.
const (
	stateNone     = 0
	stateClaimed  = 1
	stateReleased = 2
	stateDone     = 3
)

// step loads the record of key, changes and stores it, in one transaction that holds the row's
// lock: so steps of one key run one after the other. The clock is read once the row is locked.
//
// It always commits, even if nothing has changed: if a row that was inserted to be locked were
// rolled back, the transactions that wait for it would deadlock.
func (s *Store) step(
	ctx context.Context, name string, key dedupe.Key, change func(r *records.Record, now time.Time) (changed bool),
) error {
	consumer, id := []byte(key.Consumer), []byte(key.ID)
	return s.retried(ctx, name, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, s.sql["lock_"+s.dialect.Folder], consumer, id); err != nil {
			return err
		}
		r, now, err := load(tx.QueryRowContext(ctx, s.sql["load"], consumer, id))
		// A record expires once both the database's clock and that of the process are past its
		// end.
		come := clocks.Come()
		if r.ForgetAt.After(come) && !r.ForgetAt.After(now) {
			r.ForgetAt = now.Add(time.Microsecond)
		}
		if err != nil || !change(&r, now) {
			return err
		}
		r.ForgetAt = r.ForgetAt.Add(max(0, come.Sub(now)))
		_, err = tx.ExecContext(ctx, s.sql["store"], state(&r), []byte(r.Token), r.Attempt, []byte(r.Fingerprint),
			r.Lease.Microseconds(), r.LeaseUntil.UnixMicro(), r.ForgetAt.UnixMicro(), r.Result, consumer, id)
		return err
	})
}

func load(row *sql.Row) (r records.Record, now time.Time, err error) {
	var state int
	var token, fingerprint []byte
	var lease, leaseUntil, forgetAt, clock int64
	if err := row.Scan(&state, &token, &r.Attempt, &fingerprint, &lease, &leaseUntil, &forgetAt, &r.Result, &clock); err != nil {
		return r, now, err
	}
	now = time.UnixMicro(clock)
	if state == stateNone {
		return records.Record{}, now, nil
	}
	r.Known, r.Done, r.Released = true, state == stateDone, state == stateReleased
	r.Token, r.Fingerprint = string(token), string(fingerprint)
	r.Lease = time.Duration(lease) * time.Microsecond
	r.LeaseUntil, r.ForgetAt = time.UnixMicro(leaseUntil), time.UnixMicro(forgetAt)
	return r, now, nil
}

func state(r *records.Record) int {
	switch {
	case r.Done:
		return stateDone
	case r.Released:
		return stateReleased
	default:
		return stateClaimed
	}
}

// retried runs fn in a transaction, and again if the database aborts it in favour of another transaction.
func (s *Store) retried(ctx context.Context, name string, fn func(tx *sql.Tx) error) error {
	var err error
	for range tries {
		err = s.once(ctx, fn)
		if !sqldialect.Conflict(err) {
			break
		}
	}
	switch {
	case err == nil:
		return nil
	case sqldialect.MissingTable(err):
		err = fmt.Errorf("%w: %w", outbox.ErrNotMigrated, err)
	}
	return fmt.Errorf("leat: sql %s: %w", name, err)
}

func (s *Store) once(ctx context.Context, fn func(tx *sql.Tx) error) error {
	var options *sql.TxOptions
	if !s.dialect.OneWriter {
		// Reads after the lock must see what was committed before it.
		options = &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	}
	return sqlstore.Transact(ctx, s.db, options, fn)
}
