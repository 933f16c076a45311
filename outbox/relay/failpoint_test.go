package relay_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// TestFailurePoints: whatever fails at any point, every record is in the end delivered or parked, none is
// lost, and the order of a key is kept.
func TestFailurePoints(t *testing.T) {
	t.Parallel()
	for _, point := range []failpoint.Name{
		failpoint.RelayClaimWaits, failpoint.RelayLeaseAcquired, failpoint.RelayAfterFetch, failpoint.RelayMidBatch,
		failpoint.RelaySentNotAcked, failpoint.RelayAckedBeforeAdvance, failpoint.RelayBetweenPages, failpoint.RelayBeforeRenew,
		failpoint.RelayLeaseLostWhileSending, failpoint.RelayBeforePark, failpoint.RelayAfterPark,
	} {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var points failpointtest.Registry
				for hit := range 3 {
					require.NoError(t, points.EnableAt(point, hit+1, failpointtest.Error(errAway)))
				}
				l := newLab(t)
				l.put("t", "k", "k1", "k2", "k3")
				l.put("t", "p", "p1", "p2")
				l.put("t", "l", "l1", "l2")
				l.refuse("p1", outbox.FailurePermanent)
				sink := throughFunc(t, l)
				r, err := relay.New(l.source(), sink, relay.Config{PageSize: 3, BackoffMax: time.Second})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(failpointtest.With(t.Context(), &points))
				done := make(chan error, 1)
				go func() { done <- r.Run(ctx) }()
				elapse(t, 10*time.Minute)
				cancel()
				require.NoError(t, <-done)
				require.Positive(t, points.Hits(point))
				require.Equal(t, []string{"p1", "p2"}, l.parked())
				first := map[string]bool{}
				var got []string
				for _, p := range l.sent() {
					if !first[p] {
						first[p] = true
						got = append(got, p)
					}
				}
				require.Len(t, got, 5)
				require.Subset(t, got, []string{"k1", "k2", "k3", "l1", "l2"})
				require.Less(t, indexOf(got, "k1"), indexOf(got, "k2"))
				require.Less(t, indexOf(got, "k2"), indexOf(got, "k3"))
				require.Less(t, indexOf(got, "l1"), indexOf(got, "l2"))
			})
		})
	}
}

func indexOf(all []string, one string) int {
	for i := range all {
		if all[i] == one {
			return i
		}
	}
	return -1
}

// throughFunc delivers to l through a function that gets one record per call.
func throughFunc(t *testing.T, l *lab) driver.Sink {
	t.Helper()
	var one sync.Mutex
	sink, err := relay.Func(func(ctx context.Context, r outbox.Record) error {
		one.Lock()
		defer one.Unlock()
		return l.Send(ctx, []outbox.Record{r})[0].Err
	}, relay.FuncConfig{Lanes: 2})
	require.NoError(t, err)
	return sink
}

// TestO13_StoppedInsideABatch: the point is reached when a relay is stopped while a page is in flight.
// Only what the sink has answered for that page may then be repeated.
func TestO13_StoppedInsideABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var points failpointtest.Registry
		require.NoError(t, points.Enable(failpoint.RelayCloseMidBatch, failpointtest.Error(nil)))
		log, sink := newFakeLog(4), takesAll(time.Second)
		r, err := relay.New(log.source(), sink, relay.Config{PageSize: 2})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(failpointtest.With(t.Context(), &points), time.Second/2)
		defer cancel()
		require.NoError(t, r.Run(ctx))
		require.Equal(t, 1, points.Hits(failpoint.RelayCloseMidBatch))
		require.Zero(t, log.settled())
		n, err := r.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, 4, n)
		require.Equal(t, append(ids(2), ids(4)...), sink.sent())
		clean(t, log)
	})
}

// TestO9_LeaseLostWhileSending: a relay that is delayed until its lease is over sends nothing more.
func TestO9_LeaseLostWhileSending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var points failpointtest.Registry
		require.NoError(t, points.EnableAt(failpoint.RelayLeaseLostWhileSending, 1, failpointtest.Pause(nil)))
		log := newFakeLog(2)
		src, sink, hook := log.source(), takesAll(0), &recorder{}
		cfg := leaseConfig()
		cfg.Hooks = []outbox.Hook{hook}
		r, err := relay.New(src, sink, cfg)
		require.NoError(t, err)
		src.renew = func(context.Context) error { return driver.ErrLeaseLost }
		ctx, cancel := context.WithCancel(failpointtest.With(t.Context(), &points))
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		<-points.Reached(failpoint.RelayLeaseLostWhileSending, 1)
		second := takesAll(0)
		other := start(t, log.source(), second, leaseConfig())
		elapse(t, time.Minute)
		require.Equal(t, 2, log.settled())
		cancel()
		require.NoError(t, <-done)
		_, err = other.stop()
		require.NoError(t, err)
		require.Len(t, append(sink.sent(), second.sent()...), 2)
		clean(t, log)
	})
}
