package sqlinbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/outbox"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

// TestO7_OperatorsWaitForNoHandler: a handler that has begun keeps the row of its message locked, and may
// run for hours. Operators do not wait for it.
func TestO7_OperatorsWaitForNoHandler(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, open(t, nil), sqlinbox.Config{})
			in, err := s.open("c", inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park}})
			require.NoError(t, err)
			_, err = in.Process(t.Context(), message.NewMessage("a", nil), func(context.Context) error {
				return inbox.Permanent(context.DeadlineExceeded)
			})
			require.NoError(t, err)
			tx, err := s.look.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, tx.Rollback()) }()
			var no int64
			require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT no FROM leat_inbox_parked FOR UPDATE").Scan(&no))

			a, err := sqlinbox.NewAdmin(s.look, s.dialect, s.cfg)
			require.NoError(t, err)
			by, one := outboxadmin.By{Actor: "test", Reason: "test"}, admin.Selection{ID: "a"}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // a lock is waited for 50 s
			defer cancel()
			_, err = a.Redrive(ctx, admin.ChangeRequest{By: by, Consumer: "c", Selection: one})
			require.ErrorIs(t, err, admin.ErrNotParked)
			_, err = a.Drop(ctx, admin.ChangeRequest{By: by, Consumer: "c", Selection: one})
			require.ErrorIs(t, err, admin.ErrNotParked)
		})
	}
}

// TestI4_OutageOfTheServer: the error of a database with a full disk does not count as a failure of the
// message; other errors do.
func TestI4_OutageOfTheServer(t *testing.T) {
	t.Parallel()
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, open(t, nil), sqlinbox.Config{})
			in, err := s.open("c", inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1, Delay: inbox.NoDelay}})
			require.NoError(t, err)
			full := []string{"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021, MESSAGE_TEXT = 'Disk full'"}
			if s.dialect == outbox.SQLite {
				full = []string{"CREATE TABLE large (b)", "PRAGMA max_page_count = 1", "INSERT INTO large VALUES (zeroblob(1000000))"}
			}
			run := func(statements ...string) func(ctx context.Context) error {
				return func(ctx context.Context) error {
					for _, statement := range statements {
						if _, err := sqlinbox.Tx(ctx).ExecContext(ctx, statement); err != nil {
							return err
						}
					}
					return nil
				}
			}
			for range 2 {
				outcome, err := in.Process(t.Context(), message.NewMessage("a", nil), run(full...))
				require.Equal(t, inbox.OutcomeFailed, outcome)
				require.False(t, inbox.ShouldPoison(err), err)
			}
			outcome, err := in.Process(t.Context(), message.NewMessage("b", nil), run("SELECT nothing FROM nowhere"))
			require.NoError(t, err)
			require.Equal(t, inbox.OutcomeParked, outcome)
		})
	}
}
