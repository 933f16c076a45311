package relay_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// leaseConfig has a lease of 30 s. A send needs 5 s of it, and the margin is
// 1 s.
func leaseConfig() relay.Config {
	return relay.Config{
		PageSize: 1, Lease: 30 * time.Second, PublishTimeout: 5 * time.Second, LeaseMargin: time.Second,
		PollMin: 100 * time.Millisecond, PollMax: 100 * time.Millisecond,
	}
}

// TestO14_RenewedEveryThird: the lease is renewed after a third of its duration, so that it never runs
// out.
func TestO14_RenewedEveryThird(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(0)
		src := log.source()
		began := time.Now()
		run := start(t, src, takesAll(0), leaseConfig())
		elapse(t, 5*time.Minute+time.Second)
		_, err := run.stop()
		require.NoError(t, err)
		require.Len(t, src.renewals, 30)
		for i, at := range src.renewals {
			require.Equal(t, time.Duration(i+1)*10*time.Second, at.Sub(began))
		}
		require.Len(t, src.attempts(), 1)
		clean(t, log)
	})
}

// TestO14_StandbyWaits: a standby asks for the lease again within a fifth of its duration, and leads soon
// after it was released.
func TestO14_StandbyWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		leader := start(t, log.source(), takesAll(0), leaseConfig())
		synctest.Wait()
		standby, hook := log.source(), &recorder{}
		cfg := leaseConfig()
		cfg.Hooks = []outbox.Hook{hook}
		sink := takesAll(0)
		second := start(t, standby, sink, cfg)
		elapse(t, 5*time.Minute)
		require.Empty(t, sink.called())
		require.Empty(t, hook.errors, "a lease that is held is not an error")
		tries := standby.attempts()
		require.Greater(t, len(tries), 40)
		require.Less(t, len(tries), 80)
		for i := 1; i < len(tries); i++ {
			require.LessOrEqual(t, tries[i].Sub(tries[i-1]), 6*time.Second)
		}
		_, err := leader.stop()
		require.NoError(t, err)
		log.add(1)
		elapse(t, 7*time.Second)
		require.Equal(t, []string{"2"}, sink.sent())
		_, err = second.stop()
		require.NoError(t, err)
		require.EqualValues(t, 2, log.epoch)
		clean(t, log)
	})
}

// TestO9_FencesItselfBeforeATakeover: a relay whose renewals hang, fail or are never answered ends its
// term LeaseMargin before another relay can lead. It does not begin to send if less than PublishTimeout is
// left.
func TestO9_FencesItselfBeforeATakeover(t *testing.T) {
	t.Parallel()
	for name, renew := range map[string]func(ctx context.Context) error{
		"fails": func(context.Context) error { return errAway },
		"hangs": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"ignores its context": func(context.Context) error {
			return wait.For(context.Background(), 10*time.Minute)
		},
		"lost": func(context.Context) error { return driver.ErrLeaseLost },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog(10_000)
				victim := log.source()
				victim.renew = renew
				sink := takesAll(300 * time.Millisecond)
				cfg := leaseConfig()
				acquired := time.Now()
				first := start(t, victim, sink, cfg)
				synctest.Wait()
				victim.acquire = func() error { return errAway } // it is cut off from now on
				standby := log.source()
				took := start(t, standby, takesAll(0), cfg)
				elapse(t, 25*time.Minute)

				for _, c := range sink.called() {
					require.LessOrEqual(t, c.began.Sub(acquired), cfg.Lease-cfg.PublishTimeout)
					require.LessOrEqual(t, c.ended.Sub(acquired), cfg.Lease-cfg.LeaseMargin)
				}
				require.GreaterOrEqual(t, len(sink.called()), 30)
				require.EqualValues(t, 2, log.epoch)
				require.Equal(t, 10_000, log.settled())
				_, err := first.stop()
				require.NoError(t, err)
				_, err = took.stop()
				require.NoError(t, err)
				clean(t, log)
			})
		})
	}
}

// TestO9_RenewBehindAHangingCall: a renewal that waits for another call of the session cannot end before
// that call. So the end of the call must not depend on the renewal.
func TestO9_RenewBehindAHangingCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(3)
		src := log.source()
		var busy sync.Mutex
		var hung atomic.Bool
		src.advance = func(ctx context.Context) error {
			busy.Lock()
			defer busy.Unlock()
			if hung.Swap(true) {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		src.renew = func(context.Context) error {
			for !busy.TryLock() { // a mutex would stop the bubble's clock
				if err := wait.For(context.Background(), 10*time.Millisecond); err != nil {
					return err
				}
			}
			busy.Unlock()
			return nil
		}
		hook := &recorder{}
		cfg := leaseConfig()
		cfg.Hooks = []outbox.Hook{hook}
		began := time.Now()
		run := start(t, src, takesAll(0), cfg)
		elapse(t, 5*time.Minute)
		require.Equal(t, 3, log.settled())
		require.GreaterOrEqual(t, len(src.attempts()), 2)
		require.LessOrEqual(t, src.attempts()[1].Sub(began), cfg.Lease)
		require.ErrorIs(t, hook.leases[1].err, driver.ErrLeaseLost)
		_, err := run.stop()
		require.NoError(t, err)
		clean(t, log)
	})
}

// TestO9_NoSendIntoTheEndOfALease: while renewals fail for a time, sends wait
// for the lease, and go on when it is renewed.
func TestO9_NoSendIntoTheEndOfALease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(200)
		src := log.source()
		began := time.Now()
		src.renew = func(context.Context) error {
			if time.Since(began) < 28*time.Second {
				return errAway
			}
			return nil
		}
		sink := takesAll(400 * time.Millisecond)
		run := start(t, src, sink, leaseConfig())
		elapse(t, 2*time.Minute)
		for _, c := range sink.called() {
			at := c.began.Sub(began)
			require.False(t, at > 25*time.Second && at < 28*time.Second, "a send at %s", at)
		}
		require.Equal(t, ids(200), sink.sent())
		require.EqualValues(t, 1, log.epoch, "the lease was kept")
		_, err := run.stop()
		require.NoError(t, err)
		clean(t, log)
	})
}

// TestO9_SlowAcquireCounts: the lease counts from the time before it was requested.
func TestO9_SlowAcquireCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(100)
		src := log.source()
		began := time.Now()
		src.acquire = func() error { return wait.For(t.Context(), 22*time.Second) } // granted at the end of it
		src.renew = func(context.Context) error { return errAway }
		sink := takesAll(time.Second)
		run := start(t, src, sink, leaseConfig())
		elapse(t, 40*time.Second)
		require.NotEmpty(t, sink.called())
		for _, c := range sink.called() {
			require.LessOrEqual(t, c.began.Sub(began), 25*time.Second)
		}
		_, err := run.stop()
		require.NoError(t, err)
		require.NoError(t, log.violations())
	})
}

// TestO14_LongPublishTimeoutDoesNotStall: if a send needs more than two thirds of the lease, the lease is
// renewed sooner, so that sends do not wait for a renewal.
func TestO14_LongPublishTimeoutDoesNotStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, sink := newFakeLog(100), takesAll(300*time.Millisecond)
		cfg := leaseConfig()
		cfg.PublishTimeout = 28 * time.Second
		run := start(t, log.source(), sink, cfg)
		elapse(t, 31*time.Second)
		require.Equal(t, 100, log.settled())
		_, err := run.stop()
		require.NoError(t, err)
		clean(t, log)
	})
}

// TestPublishTimeout bounds each call of the sink.
func TestPublishTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		sink := &fakeSink{answer: func(ctx context.Context, n int, records []outbox.Record) []outbox.Result {
			if n < 3 {
				return acked(ctx, time.Hour, records)
			}
			return acked(ctx, 0, records)
		}}
		run := start(t, log.source(), sink, leaseConfig())
		elapse(t, time.Minute)
		calls := sink.called()
		require.Len(t, calls, 3)
		for _, c := range calls {
			require.Equal(t, 5*time.Second, c.deadline.Sub(c.began))
		}
		require.Equal(t, 1, log.settled())
		_, err := run.stop()
		require.NoError(t, err)
		clean(t, log)
	})
}
