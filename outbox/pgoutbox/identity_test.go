package pgoutbox_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/pgoutbox"
)

// slowDoor returns an outbox whose first connection attempt hangs until its context ends or open is
// closed. asked receives a value once it hangs.
func slowDoor(t *testing.T) (ob *pgoutbox.Outbox, asked <-chan bool, open chan struct{}) {
	t.Helper()
	_, db := newOutbox(t, pgoutbox.Config{})
	hangs, open := make(chan bool, 10), make(chan struct{})
	var calls atomic.Int32
	cfg := db.Pool.Config()
	cfg.BeforeConnect = func(ctx context.Context, _ *pgx.ConnConfig) error {
		if calls.Add(1) > 1 {
			return nil
		}
		_, bounded := ctx.Deadline()
		hangs <- bounded
		select {
		case <-open:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	ob, err = pgoutbox.New(pool, pgoutbox.Config{})
	require.NoError(t, err)
	return ob, hangs, open
}

// prepare makes ob ask which outbox it is, in the background.
func prepare(ctx context.Context, ob *pgoutbox.Outbox) <-chan error {
	done := make(chan error, 1)
	go func() {
		done <- ob.QueueEnqueue(ctx, &pgx.Batch{}, keyed("k", "x")...)
	}()
	return done
}

// TestO1_InstanceIsAskedForInBoundedTime: a call that waits while another one asks which outbox this is
// waits no longer than its own context allows.
func TestO1_InstanceIsAskedForInBoundedTime(t *testing.T) {
	t.Parallel()
	ob, asked, open := slowDoor(t)
	first := prepare(t.Context(), ob)
	require.True(t, <-asked, "the look has a deadline, which its caller has not")
	ctx, cancel := context.WithCancel(t.Context())
	impatient, patient := prepare(ctx, ob), prepare(t.Context(), ob)
	cancel()
	require.ErrorIs(t, <-impatient, context.Canceled)
	close(open)
	require.NoError(t, <-first)
	require.NoError(t, <-patient)
}

// TestO1_InstanceIsAskedForAgain: when the call that asked gives up, another one asks.
func TestO1_InstanceIsAskedForAgain(t *testing.T) {
	t.Parallel()
	ob, asked, _ := slowDoor(t)
	ctx, cancel := context.WithCancel(t.Context())
	first := prepare(ctx, ob)
	<-asked
	second := prepare(t.Context(), ob)
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
	require.NoError(t, <-second)
}
