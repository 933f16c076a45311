package sqlinbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/txctx"
)

// TestForbiddenVariantsAreCaught runs inboxes that break one rule each on MySQL, and checks that the named
// checks fail. The last inbox breaks no rule.
func TestForbiddenVariantsAreCaught(t *testing.T) {
	t.Parallel()
	checks := []string{
		"I5_RacersAfterARollback", "I5_FailedClaimsHoldNothing", "I1_IDsThatShareALockAreKeptApart",
		"I3_NotAckedWhileAnotherWrites", "I7_ForgottenNeverRuns", "I7_OpenDeliveryIsNotForgotten",
	}
	variants := map[string]struct {
		forbidden
		caught []string
	}{
		"the index alone":             {forbidden{alone: true}, checks[:1]},
		"a failed claim stays open":   {forbidden{leaks: true}, checks[1:2]},
		"Busy taken for a duplicate":  {forbidden{busyIsDuplicate: true}, checks[2:4]},
		"a claim that knows no floor": {forbidden{noFloor: true}, checks[4:]},
		"none":                        {forbidden{}, nil},
	}
	for name, v := range variants {
		for _, check := range checks {
			if v.caught != nil && !contains(v.caught, check) {
				continue
			}
			t.Run(name+"/"+check, func(t *testing.T) {
				t.Parallel()
				c, ok := inboxtest.Find(check)
				require.True(t, ok)
				s := v.forbidden
				s.subject = newSubject(t, openMySQL(t, nil), sqlinbox.Config{})
				s.ctx = t.Context()
				err := c.Run(t.Context(), &s)
				require.Equal(t, v.caught == nil, err == nil, "the check says: %v", err)
			})
		}
	}
}

func contains(all []string, one string) bool {
	return strings.Contains(" "+strings.Join(all, " ")+" ", " "+one+" ")
}

// forbidden is a subject whose inbox runs plain SQL on sqlinbox's tables.
type forbidden struct {
	*subject

	ctx context.Context //nolint:containedctx // of the test, what is leaked hangs on

	alone, leaks, busyIsDuplicate, noFloor bool
}

func (s *forbidden) Open(consumer string, cfg inbox.Config) (inbox.Runner, error) {
	_, err := s.look.ExecContext(s.ctx, `INSERT IGNORE INTO leat_inbox_consumers (name, since, fence) VALUES (?, 1, 0)`, []byte(consumer))
	if err != nil {
		return nil, err
	}
	return inbox.New(&forbiddenStore{s, consumer}, consumer, cfg)
}

type forbiddenStore struct {
	*forbidden

	consumer string
}

// Conflict implements driver.Classifier as sqlinbox does.
func (s *forbiddenStore) Conflict(err error) bool {
	return sqldialect.Number(err) == sqldialect.Deadlock
}

// Outage implements driver.Classifier as sqlinbox does.
func (s *forbiddenStore) Outage(err error) bool { return sqldialect.Outage(err) }

func (s *forbiddenStore) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	stored, _ := ids.Map(id)
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, 0, err
	}
	tx, err := conn.BeginTx(s.ctx, nil)
	if err != nil {
		return nil, 0, errors.Join(err, conn.Close())
	}
	n, err := s.insert(ctx, tx, stored, bucket(s.consumer, id))
	if err == nil && n == 1 {
		return txUnit{conn, tx}, driver.Claimed, nil
	}
	if err == nil || !s.leaks {
		err = errors.Join(err, tx.Rollback(), conn.Close())
	} else {
		context.AfterFunc(s.ctx, func() { _ = errors.Join(tx.Rollback(), conn.Close()) }) // when the test has ended
	}
	if err != nil {
		return nil, 0, err
	}
	var there bool
	var floor int64
	err = s.look.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM leat_inbox WHERE id = ?),
		(SELECT floor FROM leat_inbox_locks WHERE bucket = ?)`, stored[:], bucket(s.consumer, id)).Scan(&there, &floor)
	_, timed := ids.Time(stored)
	switch {
	case err != nil:
		return nil, 0, err
	case there, s.busyIsDuplicate:
		return nil, driver.Duplicate, nil
	case timed && ids.Millis(stored) < floor:
		return nil, 0, driver.ErrTooOld
	}
	return nil, driver.Busy, nil
}

func (s *forbiddenStore) insert(ctx context.Context, tx *sql.Tx, id ids.UUID, bucket uint64) (int64, error) {
	const insert = `INSERT IGNORE INTO leat_inbox (consumer, id, at, token)
		SELECT (SELECT id FROM leat_inbox_consumers WHERE name = ?), ?, 1 << 60, 1`
	statement, args := insert+` FROM leat_inbox_locks WHERE bucket = ? AND floor <= ? FOR UPDATE SKIP LOCKED`, []any{[]byte(s.consumer), id[:]}
	if s.alone {
		statement = insert
	} else {
		millis := int64(1) << 60
		if _, timed := ids.Time(id); timed && !s.noFloor {
			millis = ids.Millis(id)
		}
		args = append(args, bucket, millis)
	}
	result, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

type txUnit struct {
	conn *sql.Conn
	tx   *sql.Tx
}

func (u txUnit) Context(ctx context.Context) context.Context { return txctx.With(ctx, u.tx) }
func (u txUnit) Commit(context.Context) error                { return errors.Join(u.tx.Commit(), u.conn.Close()) }

func (u txUnit) Rollback(context.Context) error { return errors.Join(u.tx.Rollback(), u.conn.Close()) }
