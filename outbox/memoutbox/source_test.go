package memoutbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
)

// TestO14_LeaseExpiresOnTime counts on virtual time: to the nanosecond.
func TestO14_LeaseExpiresOnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newOutbox(t).Source(memoutbox.SourceConfig{})
		s, err := src.Acquire(t.Context(), time.Minute)
		require.NoError(t, err)
		pass(time.Minute - 1)
		require.NoError(t, s.Renew(t.Context(), time.Minute))
		pass(time.Minute - 1)
		_, err = src.Acquire(t.Context(), time.Minute)
		var held *driver.LeaseHeldError
		require.ErrorAs(t, err, &held)
		require.Equal(t, time.Duration(1), held.Remaining)
		require.Equal(t, "session 1 of group default", held.Owner)
		pass(1)

		// Expired: lost, although nobody has taken it yet.
		require.ErrorIs(t, s.Renew(t.Context(), time.Minute), driver.ErrLeaseLost)
		_, err = s.Read(t.Context(), 1)
		require.ErrorIs(t, err, driver.ErrLeaseLost)
		next, err := src.Acquire(t.Context(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, int64(2), next.Epoch())
		require.NoError(t, s.Release(t.Context()))
		require.NoError(t, next.Renew(t.Context(), time.Minute))
	})
}

// pass lets virtual time pass.
func pass(d time.Duration) {
	<-time.After(d)
}

func TestSourceRefusesBadArguments(t *testing.T) {
	t.Parallel()
	ob := newOutbox(t)
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx, msg("", "x"))
	}))
	src := ob.Source(memoutbox.SourceConfig{Group: "g"})
	_, err := src.Acquire(t.Context(), 0)
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	s, err := src.Acquire(t.Context(), time.Minute)
	require.NoError(t, err)
	require.ErrorIs(t, s.Renew(t.Context(), -1), outbox.ErrInvalidConfig)
	_, err = s.Read(t.Context(), 0)
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	p, err := s.Read(t.Context(), 5)
	require.NoError(t, err)
	require.Len(t, p.Records, 1)
	require.ErrorContains(t, s.Advance(t.Context(), p, 2), "advance by 2 of a page of 1")
	require.ErrorContains(t, s.Advance(t.Context(), p, -1), "advance by -1")
	p.Cursor = "another's"
	require.ErrorContains(t, s.Advance(t.Context(), p, 1), "foreign cursor string")
}

func TestSourceUnderAnEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	src := newOutbox(t).Source(memoutbox.SourceConfig{})
	s, err := src.Acquire(ctx, time.Minute)
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, src.Check(ctx), context.Canceled)
	_, err = src.Acquire(ctx, time.Minute)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Read(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, s.Release(ctx), context.Canceled)
	require.NoError(t, s.Release(t.Context()))
}

// TestWakesEndWithTheirContext leaves no subscription behind.
func TestWakesEndWithTheirContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob := newOutbox(t)
		ctx, cancel := context.WithCancel(t.Context())
		wakes := ob.Source(memoutbox.SourceConfig{}).Wakes(ctx)
		ob.Wake()
		ob.Wake()
		require.Len(t, wakes, 1, "wakes are coalesced")
		<-wakes
		cancel()
		synctest.Wait()
		ob.Wake()
		require.Empty(t, wakes)
	})
}
