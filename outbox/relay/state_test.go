package relay_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// TestHealth: Health distinguishes a relay that is not running, is idle, is stuck at a record that its
// policy blocks, and has recovered.
func TestHealth(t *testing.T) {
	t.Parallel()
	cfg := relay.Config{Policies: []relay.Policy{{Action: relay.Block}}, PollMax: time.Second}
	inLab(t, cfg, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		require.EqualError(t, r.Health(t.Context()), "leat: relay is not running")
		stop := lead(t, r)
		elapse(t, time.Hour)
		require.NoError(t, r.Health(t.Context()), "idle")
		l.refuse("k1", outbox.FailureUnknown)
		l.put("t", "k", "k1")
		l.put("t", "l", "l1")
		elapse(t, 4*time.Minute)
		require.NoError(t, r.Health(t.Context()), "younger than the SLO")
		s := r.State()
		require.InDelta(t, 4*time.Minute, s.OldestAge, float64(time.Second))
		require.Equal(t, "t", s.OldestTopic)
		require.Equal(t, 1, s.Held)
		require.Equal(t, 1, s.HeldKeys)
		elapse(t, 2*time.Minute)
		require.ErrorIs(t, r.Health(t.Context()), relay.ErrStuck)
		require.Equal(t, 1, hook.count(relay.AlarmStuck))
		l.allow("k1")
		elapse(t, 20*time.Second)
		require.NoError(t, r.Health(t.Context()))
		require.Equal(t, []string{"l1", "k1"}, l.sent())
		stop()
		require.EqualError(t, r.Health(t.Context()), "leat: relay is not running")
		require.Empty(t, r.State().Slots)
	})
}

// TestHealth_SourceAway: Health reports a database that does not answer. A standby that waits is healthy.
func TestHealth_SourceAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(0)
		src := log.source()
		r, err := relay.New(src, takesAll(0), relay.Config{})
		require.NoError(t, err)
		var away atomic.Bool
		src.acquire = func() error {
			if away.Load() {
				return errAway
			}
			return driver.ErrLeaseHeld
		}
		stop := lead(t, r)
		elapse(t, time.Hour)
		require.NoError(t, r.Health(t.Context()))
		away.Store(true)
		elapse(t, 6*time.Minute)
		require.ErrorContains(t, r.Health(t.Context()), "leat: source has not answered for ")
		stop()
	})
}

// TestState_Rates: State shows that more messages arrive than are sent.
func TestState_Rates(t *testing.T) {
	t.Parallel()
	inLab(t, relay.Config{PageSize: 1}, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		l.took = 200 * time.Millisecond // 5 a second
		stop := lead(t, r)
		for range 600 {
			l.put("t", "", "x")
			elapse(t, 100*time.Millisecond) // 10 a second
		}
		s := r.State()
		require.InDelta(t, 10, s.RateIn, 1)
		require.InDelta(t, 5, s.RateOut, 0.5)
		last := latest(hook.copy().progress)
		require.Equal(t, 1, last.Settled)
		require.Greater(t, last.Age, 25*time.Second)
		elapse(t, 3*time.Minute)
		require.Less(t, r.State().RateOut, 1.0)
		require.Len(t, l.sent(), 600)
		stop()
	})
}

// TestAlarm_ErrorRate: the alarm is raised once while most deliveries fail.
func TestAlarm_ErrorRate(t *testing.T) {
	t.Parallel()
	cfg := relay.Config{Policies: []relay.Policy{{Action: relay.Block}}, BackoffMax: time.Second, PollMax: time.Second}
	inLab(t, cfg, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		stop := lead(t, r)
		l.put("t", "l", "l1")
		l.refuse("k1", outbox.FailureUnknown)
		l.put("t", "k", "k1")
		elapse(t, 5*time.Minute)
		require.Equal(t, 1, hook.count(relay.AlarmErrorRate))
		stop()
	})
}
