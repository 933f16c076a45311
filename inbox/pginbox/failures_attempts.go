package pginbox

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
)

// Attempts that need no history any more are forgotten by the hundred, so that a
// message that never fails costs no write beyond the one that counts it.
const (
	forgetAt  = 128
	forgetMax = 4 * forgetAt // beyond it they are left to PruneAttempts
)

// Attempt implements driver.Attempter.
func (f *failures) Attempt(ctx context.Context, id string, key driver.Key) (a driver.Attempt, err error) {
	stored := storedID(id)
	err = f.lend(ctx, func(conn *pgx.Conn, number int16) error {
		args := []any{number, stored, f.claims.lock(stored), f.hash(key), orNull(key.Name), f.attemptCommit}
		at, err := f.claims.place(ctx, conn, stored)
		if err != nil {
			return err
		}
		if at != plain {
			err := conn.QueryRow(ctx, f.sql["attempt_range"], planned(conn, args...)...).Scan(&a.Number, &a.KeyParked)
			return errors.Join(err, f.forget(ctx, conn, number))
		}
		batch, forget := &pgx.Batch{}, f.takeSettled()
		batch.Queue(f.sql["attempt"], args...).
			QueryRow(func(row pgx.Row) error { return row.Scan(&a.Number, &a.KeyParked) })
		if len(forget) > 0 {
			batch.Queue(f.sql["attempt_forget"], number, forget)
		}
		return conn.SendBatch(ctx, batch).Close()
	})
	return a, err
}

// forget deletes the attempts of messages that need none any more, where there are
// enough of them.
func (f *failures) forget(ctx context.Context, conn *pgx.Conn, number int16) error {
	forget := f.takeSettled()
	if len(forget) == 0 {
		return nil
	}
	_, err := conn.Exec(ctx, f.sql["attempt_forget"], number, forget)
	return err
}

// Fail implements driver.Attempter.
func (f *failures) Fail(ctx context.Context, id string, failed driver.AttemptError) (h driver.History, err error) {
	entry, err := json.Marshal(storedErrors([]driver.AttemptError{failed}))
	if err != nil {
		return h, err
	}
	err = f.lend(ctx, func(conn *pgx.Conn, number int16) error {
		var text string
		err := conn.QueryRow(ctx, f.sql["attempt_fail"], number, storedID(id), string(entry), driver.MaxHistoryErrors).
			Scan(&h.Attempts, &h.First, &h.Last, &text)
		if errors.Is(err, pgx.ErrNoRows) { // pruned
			h = driver.History{Attempts: 1, Errors: []driver.AttemptError{failed}}
			return nil
		}
		if err == nil {
			h.Errors, err = loadErrors(text)
		}
		return err
	})
	h.First, h.Last = h.First.UTC(), h.Last.UTC()
	return h, err
}

// Withdraw implements driver.Attempter.
func (f *failures) Withdraw(ctx context.Context, id string) error {
	_, err := f.exec(ctx, "attempt_withdraw", storedID(id))
	return err
}

// Settle implements driver.Attempter.
func (f *failures) Settle(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.settled) < forgetMax {
		f.settled = append(f.settled, storedID(id))
	}
}

// takeSettled returns the settled ids when there are enough.
func (f *failures) takeSettled() []pgtype.UUID {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.settled) < forgetAt {
		return nil
	}
	taken := f.settled
	f.settled = nil
	return taken
}

// storedError is an driver.AttemptError as the tables have it.
type storedError struct {
	At    time.Time `json:"at"`
	Error string    `json:"error"`
}

func storedErrors(errs []driver.AttemptError) []storedError {
	all := make([]storedError, len(errs))
	for i, e := range errs {
		all[i] = storedError{At: e.At.UTC(), Error: e.Error}
	}
	return all
}

func loadErrors(text string) ([]driver.AttemptError, error) {
	var all []storedError
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, err
	}
	errs := make([]driver.AttemptError, len(all))
	for i, e := range all {
		errs[i] = driver.AttemptError(e)
	}
	return errs, nil
}
