package sqlinbox

import (
	"context"
	"database/sql"
	"errors"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/parkjson"
	"github.com/leat-go/leat/internal/sqlstore"
)

const (
	// forgetAt is how many attempts are forgotten at a time.
	forgetAt  = 128
	forgetMax = 4 * forgetAt // beyond that they are left to Maintenance
)

// noErrors is an empty history.
const noErrors = "[]"

// Attempt implements driver.Attempter. It holds the message's lock while it counts, so that a
// message in progress is not counted.
func (s *store) Attempt(ctx context.Context, id string, key driver.Key) (a driver.Attempt, err error) {
	number, err := s.ready(ctx)
	if err != nil {
		return a, err
	}
	r, k := s.row(id), s.key(key)
	err = s.Change(ctx, func(tx *sql.Tx) error {
		var processed bool
		err := tx.QueryRowContext(ctx, s.SQL["attempt_look"], number, r.id, number, k.hash, k.topic, k.name, r.bucket).
			Scan(&processed, &a.KeyParked)
		if sqlstore.IsNoRows(err) {
			return s.isKeyParked(ctx, tx, number, k, &a.KeyParked)
		}
		if err != nil || processed || a.KeyParked {
			return err
		}
		n, err := s.Exec(ctx, tx, "attempt_count", number, r.id)
		if err == nil && n == 0 {
			_, err = s.Exec(ctx, tx, "attempt_insert", number, r.id, 1, []byte(noErrors))
		}
		if err == nil {
			var first, last int64
			var errs []byte
			err = tx.QueryRowContext(ctx, s.SQL["attempt_get"], number, r.id).Scan(&a.Number, &first, &last, &errs)
		}
		return err
	})
	if err == nil {
		err = s.forgetSettled(ctx, number)
	}
	return a, err
}

// AttemptBatch implements driver.BatchAttempter. A message that another delivery is processing
// must be run alone.
func (s *store) AttemptBatch(ctx context.Context, items []driver.BatchItem) ([]bool, error) {
	number, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	rows, alone := make([]row, len(items)), make([]bool, len(items))
	for i, item := range items {
		rows[i] = s.row(item.ID)
	}
	err = s.Change(ctx, func(tx *sql.Tx) error {
		taken, err := s.lock(ctx, tx, rows)
		if err != nil {
			return err
		}
		processed, err1 := s.among(ctx, tx, "batch_seen", number, rows)
		known, err2 := s.among(ctx, tx, "attempt_known", number, rows)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		for i, r := range rows {
			if processed[string(r.id)] {
				continue
			}
			if err := s.isKeyParked(ctx, tx, number, s.key(items[i].Key), &alone[i]); err != nil {
				return err
			}
			if _, ok := taken[r.bucket]; !ok || known[string(r.id)] {
				alone[i] = true
			}
			if alone[i] {
				continue
			}
			if _, err := s.Exec(ctx, tx, "attempt_insert", number, r.id, 0, []byte(noErrors)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = s.forgetSettled(ctx, number)
	}
	return alone, err
}

// Fail implements driver.Attempter.
func (s *store) Fail(ctx context.Context, id string, failed driver.AttemptError) (h driver.History, err error) {
	number, err := s.ready(ctx)
	if err != nil {
		return h, err
	}
	r := s.row(id)
	err = s.Change(ctx, func(tx *sql.Tx) error {
		h, err = scanHistory(tx.QueryRowContext(ctx, s.SQL["attempt_get"], number, r.id).Scan)
		if sqlstore.IsNoRows(err) { // forgotten
			h = driver.History{Attempts: 1, Errors: []driver.AttemptError{failed}}
			return nil
		}
		if err != nil {
			return err
		}
		h.Errors = newest(append(h.Errors, failed))
		text, err := parkjson.EncodeErrors(h.Errors...)
		if err == nil {
			_, err = s.Exec(ctx, tx, "attempt_fail", []byte(text), number, r.id)
		}
		return err
	})
	return h, err
}

func newest(errs []driver.AttemptError) []driver.AttemptError {
	return errs[max(0, len(errs)-driver.MaxHistoryErrors):]
}

// scanHistory reads the number of attempts, the times of the first and the last, and the errors.
func scanHistory(scan func(dest ...any) error) (h driver.History, err error) {
	var (
		first, last int64
		errs        []byte
	)
	if err := scan(&h.Attempts, &first, &last, &errs); err != nil {
		return h, err
	}
	h.First, h.Last = sqlstore.Time(first), sqlstore.Time(last)
	h.Errors, err = parkjson.DecodeErrors(string(errs))
	return h, err
}

// Withdraw implements driver.Attempter.
func (s *store) Withdraw(ctx context.Context, id string) error {
	number, err := s.ready(ctx)
	if err != nil {
		return err
	}
	return s.write(ctx, "attempt_withdraw", number, s.row(id).id)
}

// Settle implements driver.Attempter. The row is deleted later, with others.
func (s *store) Settle(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.settled) < forgetMax {
		s.settled = append(s.settled, s.row(id).id)
	}
}

func (s *store) forgetSettled(ctx context.Context, number int64) error {
	s.mu.Lock()
	taken := s.settled
	if len(taken) < forgetAt {
		taken = nil
	} else {
		s.settled = nil
	}
	s.mu.Unlock()
	if taken == nil {
		return nil
	}
	return s.Change(ctx, func(tx *sql.Tx) error {
		_, err := sqlstore.Written(ctx, tx, s.SQL.List("attempt_forget", len(taken)), append([]any{number}, sqlstore.Anys(taken)...)...)
		return err
	})
}
