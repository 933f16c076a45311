package pglease_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

var errOnPurpose = errors.New("on purpose")

func newTask(t *testing.T, db *testenv.Database, ttl time.Duration) *pglease.Task {
	t.Helper()
	task, err := prepared(t).NewTask(db.Pool, pglease.TaskConfig{
		Slot: pglease.Slot{Group: "_task"}, TTL: ttl, Logger: slog.New(slog.DiscardHandler),
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
