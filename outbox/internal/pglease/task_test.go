package pglease_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

var errOnPurpose = errors.New("on purpose")

func newLine(db *testenv.Database) *pglease.Line {
	return pglease.NewLine(func(ctx context.Context) (*pgx.Conn, error) { return pgx.Connect(ctx, db.URL) },
		func(_ context.Context, conn *pgx.Conn) { _ = conn.Close(context.Background()) })
}

// ourLocks are the locks of leases.
const ourLocks = "locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"

func newTaskOn(t *testing.T, db *testenv.Database, line *pglease.Line, group string) *pglease.Task {
	t.Helper()
	task, err := prepared(t).NewTask(db.Pool, pglease.TaskConfig{
		Slot: pglease.Slot{Group: group}, TTL: ttl, Line: line, Logger: slog.New(slog.DiscardHandler),
		Describe: func(err error) error { return err },
	})
	require.NoError(t, err)
	return task
}

func newTask(t *testing.T, db *testenv.Database, ttl time.Duration) *pglease.Task {
	t.Helper()
	task, err := prepared(t).NewTask(db.Pool, pglease.TaskConfig{
		Slot: pglease.Slot{Group: "_task"}, TTL: ttl, Line: newLine(db), Logger: slog.New(slog.DiscardHandler),
		Describe: func(err error) error { return err },
	})
	require.NoError(t, err)
	return task
}

// TestO14_OneTaskAtATime: while one process works, another is told who does, and for how
// long. When it returns, the next one need not wait.
func TestO14_OneTaskAtATime(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	one, other := newTask(t, db, ttl), newTask(t, db, ttl)
	never := func(context.Context) error { return errOnPurpose }
	require.ErrorIs(t, one.Run(t.Context(), func(ctx context.Context) error {
		var held *driver.LeaseHeldError
		require.ErrorAs(t, other.Run(ctx, never), &held)
		require.Positive(t, held.Remaining)
		return errOnPurpose
	}), errOnPurpose)
	ran := 0
	work := func(context.Context) error { ran++; return nil }
	require.NoError(t, other.Run(t.Context(), work))
	require.NoError(t, one.Run(t.Context(), work))
	require.Equal(t, 2, ran)
}

// TestO9_WorkEndsWithTheLease: who has lost the lease is told at the next renewal.
func TestO9_WorkEndsWithTheLease(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	err := newTask(t, db, 300*time.Millisecond).Run(t.Context(), func(ctx context.Context) error {
		_, err := db.Pool.Exec(ctx, "UPDATE leat.outbox_leases SET owner = 'another', epoch = epoch + 1")
		require.NoError(t, err)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), driver.ErrLeaseLost)
		return errOnPurpose
	})
	require.ErrorIs(t, err, driver.ErrLeaseLost)
	require.ErrorIs(t, err, errOnPurpose)
}

// TestO14_LeaseIsKeptWhileWorkGoesOn outlives the first term of a lease.
func TestO14_LeaseIsKeptWhileWorkGoesOn(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	const short = time.Second
	var first time.Time
	until := func() (end time.Time) {
		require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT lease_until FROM leat.outbox_leases").Scan(&end))
		return end
	}
	require.NoError(t, newTask(t, db, short).Run(t.Context(), func(ctx context.Context) error {
		first = until()
		require.Eventually(t, func() bool { return until().After(first.Add(short)) }, 20*time.Second, 5*time.Millisecond)
		return ctx.Err()
	}))
}

// TestO14_TasksShareALine: of two tasks on one connection, either may end first; the locks of
// both end with it, and it is closed when nobody works.
func TestO14_TasksShareALine(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	line := newLine(db)
	task := func(group string) *pglease.Task { return newTaskOn(t, db, line, group) }
	locks := func() (locks []string) {
		require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT array_agg(DISTINCT pid::text) FROM pg_locks WHERE "+ourLocks).Scan(&locks))
		return locks
	}
	a, b := task("_a"), task("_b")
	require.NoError(t, a.Run(t.Context(), func(ctx context.Context) error {
		for range 3 {
			require.NoError(t, b.Run(ctx, func(context.Context) error { require.Len(t, locks(), 1); return nil }))
		}
		var n int
		require.NoError(t, db.Pool.QueryRow(ctx, "SELECT count(*) FROM pg_locks WHERE "+ourLocks).Scan(&n))
		require.Equal(t, 1, n, "locks of what has ended are given back")
		_, err := db.Pool.Exec(ctx, "SELECT pg_terminate_backend($1::int)", locks()[0])
		require.NoError(t, err)
		require.Eventually(t, func() bool { return locks() == nil }, 20*time.Second, time.Millisecond)
		return task("_a").Run(ctx, func(context.Context) error { return nil })
	}), "the lease of the first is taken, although it still works")
	require.Eventually(t, func() bool { return locks() == nil }, 20*time.Second, time.Millisecond)
}

// TestO14_CancelSparesOthers: a task whose context ends in the middle of a statement on the shared
// connection does not cost the others their leases.
func TestO14_CancelSparesOthers(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	line := newLine(db)
	a, b := newTaskOn(t, db, line, "_a"), newTaskOn(t, db, line, "_b")
	never := func(ctx context.Context) error { return ctx.Err() }
	require.NoError(t, a.Run(t.Context(), func(ctx context.Context) error {
		var pid int
		require.NoError(t, db.Pool.QueryRow(ctx, "SELECT pid FROM pg_locks WHERE "+ourLocks).Scan(&pid))
		tx, err := db.Pool.Begin(ctx)
		require.NoError(t, err)
		_, err = tx.Exec(ctx, "LOCK TABLE leat.outbox_leases IN EXCLUSIVE MODE")
		require.NoError(t, err)
		cut, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- b.Run(cut, never) }()
		require.Eventually(t, func() bool {
			var waits bool
			err := db.Pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock')", pid).Scan(&waits)
			return err == nil && waits
		}, 20*time.Second, time.Millisecond)
		cancel()
		require.NoError(t, tx.Rollback(ctx))
		require.ErrorIs(t, <-ended, context.Canceled)
		var n int
		require.NoError(t, db.Pool.QueryRow(ctx, "SELECT count(*) FROM pg_locks WHERE pid = $1 AND "+ourLocks, pid).Scan(&n))
		require.Equal(t, 1, n, "the lock of the first is still there, and that of the second is not")
		return ctx.Err()
	}))
}

// TestLine_ListensBetweenTasks: who listens gives the connection to a task at once, misses nothing,
// and is cut off from it with the rest.
func TestLine_ListensBetweenTasks(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	line := newLine(db)
	conn, err := line.Join(t.Context())
	require.NoError(t, err)
	exec := func(sql string) {
		t.Helper()
		require.NoError(t, line.Do(t.Context(), func(ctx context.Context) error {
			_, err := conn.Exec(ctx, sql)
			return err
		}))
	}
	exec("LISTEN bell")
	heard, ended := make(chan string, 1), make(chan error, 1)
	var interrupted atomic.Int32
	go func() {
		var err error
		for err == nil {
			err = line.Listen(t.Context(), func(ctx context.Context) error {
				n, err := conn.WaitForNotification(ctx)
				if n != nil {
					heard <- n.Payload
				} else if ctx.Err() != nil && !conn.IsClosed() {
					interrupted.Add(1)
					return nil
				}
				return err
			})
		}
		ended <- err
	}()
	for range 100 {
		exec("SELECT") // none of them waits for a notification
		exec("NOTIFY bell, 'on it'")
		require.Equal(t, "on it", <-heard)
		_, err := db.Pool.Exec(t.Context(), "NOTIFY bell, 'elsewhere'")
		require.NoError(t, err)
		require.Equal(t, "elsewhere", <-heard)
	}
	require.Positive(t, interrupted.Load())
	again, err := line.Join(t.Context())
	require.NoError(t, err)
	require.Same(t, conn, again)
	_, err = db.Pool.Exec(t.Context(), "SELECT pg_terminate_backend($1)", conn.PgConn().PID())
	require.NoError(t, err)
	require.Error(t, <-ended)
	other, err := line.Join(t.Context())
	require.NoError(t, err)
	require.NotSame(t, conn, other)
	nothing := func(context.Context) error { return errOnPurpose }
	for _, c := range []*pgx.Conn{conn, other} {
		line.Leave(t.Context(), c, nothing, slog.New(slog.DiscardHandler))
	}
}
