package pgpark

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/parkjson"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgpin"
)

// Attempts whose history is not needed any more are deleted by the hundred, so that a message
// that never fails costs only the write that counts it.
const (
	forgetAt  = 128
	forgetMax = 4 * forgetAt // beyond that they are left to maintenance
)

// Attempt implements driver.Attempter.
func (s *Store) Attempt(ctx context.Context, id string, key driver.Key) (a driver.Attempt, err error) {
	stored := pgclaim.StoredID(id)
	err = s.lend(ctx, func(conn *pgx.Conn, number int16) error {
		args := []any{number, stored, s.inbox.Lock(stored), s.hash(key), orNull(key.Name), s.attemptCommit}
		ranged, err := s.inbox.Ranged(ctx, conn, stored)
		if err != nil {
			return err
		}
		if ranged {
			err := conn.QueryRow(ctx, s.sql["attempt_range"], planned(conn, args...)...).Scan(&a.Number, &a.KeyParked)
			return errors.Join(err, s.forget(ctx, conn, number))
		}
		batch, forget := &pgx.Batch{}, s.takeSettled()
		batch.Queue(s.sql["attempt"], args...).
			QueryRow(func(row pgx.Row) error { return row.Scan(&a.Number, &a.KeyParked) })
		if len(forget) > 0 {
			batch.Queue(s.sql["attempt_forget"], number, forget)
		}
		return conn.SendBatch(ctx, batch).Close()
	})
	return a, err
}

// forget deletes the attempts of settled messages, if there are enough of them.
func (s *Store) forget(ctx context.Context, conn *pgx.Conn, number int16) error {
	forget := s.takeSettled()
	if len(forget) == 0 {
		return nil
	}
	_, err := conn.Exec(ctx, s.sql["attempt_forget"], number, forget)
	return err
}

// Fail implements driver.Attempter.
func (s *Store) Fail(ctx context.Context, id string, failed driver.AttemptError) (h driver.History, err error) {
	entry, err := parkjson.EncodeErrors(failed)
	if err != nil {
		return h, err
	}
	err = s.lend(ctx, func(conn *pgx.Conn, number int16) error {
		var text string
		err := pgpin.On{DB: conn}.QueryRow(ctx, s.sql["attempt_fail"], number, pgclaim.StoredID(id), entry, driver.MaxHistoryErrors).
			Scan(&h.Attempts, &h.First, &h.Last, &text)
		if errors.Is(err, pgx.ErrNoRows) { // pruned
			h = driver.History{Attempts: 1, Errors: []driver.AttemptError{failed}}
			return nil
		}
		if err == nil {
			h.First, h.Last = h.First.UTC(), h.Last.UTC()
			h.Errors, err = parkjson.DecodeErrors(text)
		}
		return err
	})
	return h, err
}

// Withdraw implements driver.Attempter.
func (s *Store) Withdraw(ctx context.Context, id string) error {
	_, err := s.exec(ctx, "attempt_withdraw", pgclaim.StoredID(id))
	return err
}

// Settle implements driver.Attempter.
func (s *Store) Settle(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.settled) < forgetMax {
		s.settled = append(s.settled, pgclaim.StoredID(id))
	}
}

// takeSettled returns and clears the settled ids if there are enough.
func (s *Store) takeSettled() []pgtype.UUID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.settled) < forgetAt {
		return nil
	}
	taken := s.settled
	s.settled = nil
	return taken
}
