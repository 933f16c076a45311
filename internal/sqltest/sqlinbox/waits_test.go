package sqlinbox_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/sqltest"
	"github.com/leat-go/leat/internal/wait"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

// TestO7_OperatorsWaitForNoHandler: a handler that has just begun has the row of its message
// locked, and may run for hours.
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
			_, err = a.Redrive(ctx, admin.RedriveRequest{By: by, Consumer: "c", Selection: one})
			require.ErrorIs(t, err, admin.ErrNotParked)
			_, err = a.Drop(ctx, admin.DropRequest{By: by, Consumer: "c", Selection: one})
			require.ErrorIs(t, err, admin.ErrNotParked)
		})
	}
}

// TestRedrive_WaitsForALook: another process that looks for what is redriven locks rows
// beside the one it takes. It gives them back at once, so that the message is worth the wait:
// it has been picked, and is left alone by all others for a while.
func TestRedrive_WaitsForALook(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, open(t, nil), sqlinbox.Config{})
			looks, err := s.look.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			defer func() { _ = looks.Rollback() }() // it has been, unless the test fails
			s.db = sqltest.OpenHooked(t, s.config, func(ctx context.Context, query string) error {
				if !strings.Contains(query, "SELECT attempts FROM `leat_inbox_parked`") {
					return nil
				}
				var no int64
				return looks.QueryRowContext(ctx, "SELECT no FROM leat_inbox_parked FOR UPDATE").Scan(&no)
			})
			in, err := s.open("c", inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park}, RedrivePoll: time.Millisecond})
			require.NoError(t, err)
			_, err = in.Process(t.Context(), message.NewMessage("a", nil), func(context.Context) error {
				return inbox.Permanent(context.DeadlineExceeded)
			})
			require.NoError(t, err)
			a, err := s.Admin()
			require.NoError(t, err)
			by := outboxadmin.By{Actor: "test", Reason: "test"}
			_, err = a.Redrive(t.Context(), admin.RedriveRequest{By: by, Consumer: "c", Selection: admin.Selection{ID: "a"}})
			require.NoError(t, err)

			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second) // a picked message is left alone for 10 s
			defer cancel()
			var runs errgroup.Group
			runs.Go(func() error {
				return in.RunRedrive(ctx, func(context.Context, *message.Message) error {
					cancel()
					return nil
				})
			})
			require.NoError(t, awaitLock(ctx, s.look), "nobody waits for the row")
			require.NoError(t, looks.Rollback())
			require.NoError(t, runs.Wait())
			require.ErrorIs(t, ctx.Err(), context.Canceled, "the message did not run")
		})
	}
}

// awaitLock waits until a transaction of the database waits for a lock. The server makes its
// list anew only if nobody has looked for 100 ms.
func awaitLock(ctx context.Context, db *sql.DB) error {
	for waiting := 0; waiting == 0; {
		if err := wait.For(ctx, 150*time.Millisecond); err != nil {
			return err
		}
		err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.innodb_trx t
			JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
			WHERE t.trx_state = 'LOCK WAIT' AND p.db = DATABASE()`).Scan(&waiting)
		if err != nil {
			return err
		}
	}
	return nil
}
