package relay_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// TestAlarm_Ends: an alarm ends once when its cause is gone, and can be raised again.
func TestAlarm_Ends(t *testing.T) {
	t.Parallel()
	cfg := relay.Config{Policies: []relay.Policy{{Action: relay.Block}}, PollMax: time.Second}
	inLab(t, cfg, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		stop := lead(t, r)
		for round := range 2 {
			l.refuse("k1", outbox.FailureUnknown)
			l.put("t", "k", "k1")
			elapse(t, 6*time.Minute)
			require.Equal(t, round+1, hook.count(relay.AlarmStuck))
			require.Equal(t, round, hook.countEnded(relay.AlarmStuck), "it lasts")
			stands := latest(r.State().Alarms)
			require.Equal(t, relay.AlarmStuck, stands.Kind)
			require.Less(t, time.Since(stands.Since), 2*time.Minute)
			l.allow("k1")
			elapse(t, time.Minute)
			require.Equal(t, round+1, hook.countEnded(relay.AlarmStuck))
			require.NotContains(t, r.State().Alarms, stands)
		}
		stop()
		seen := hook.copy()
		require.ElementsMatch(t, seen.alarms, seen.ended, "each as it was raised")
	})
}

// TestAlarm_EndsWithRun: the alarms of a relay end when the relay stops.
func TestAlarm_EndsWithRun(t *testing.T) {
	t.Parallel()
	inLab(t, relay.Config{MaxHeld: 1, PageSize: 2, PollMax: time.Second}, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		for _, name := range []string{"a", "b"} {
			l.refuse(name, outbox.FailurePermanent)
			l.put("t", name, name)
		}
		stop := lead(t, r)
		elapse(t, time.Minute)
		require.Equal(t, 1, hook.count(relay.AlarmHeldCap))
		require.Zero(t, hook.countEnded(relay.AlarmHeldCap))
		stop()
		require.Equal(t, 1, hook.countEnded(relay.AlarmHeldCap))
		require.Zero(t, hook.countEnded(relay.AlarmParked), "that tells of what has happened")
	})
}

// TestAlarm_EndsWithTheLease: of two relays that take turns, the one that leads raises the alarms.
func TestAlarm_EndsWithTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, hook := newFakeLog(3).source(), &recorder{}
		down := &fakeSink{answer: func(_ context.Context, _ int, records []outbox.Record) []outbox.Result {
			results := make([]outbox.Result, len(records))
			for i := range results {
				results[i] = outbox.Failed(outbox.FailureOutage, errBroker)
			}
			return results
		}}
		var lost atomic.Bool
		src.acquire = func() error {
			if lost.Load() {
				return driver.ErrLeaseHeld
			}
			return nil
		}
		src.renew = func(context.Context) error {
			if lost.Load() {
				return driver.ErrLeaseLost
			}
			return nil
		}
		cfg := leaseConfig()
		cfg.Hooks = []outbox.Hook{hook}
		run := start(t, src, down, cfg)
		elapse(t, 5*time.Minute)
		require.Greater(t, len(hook.copy().alarms), len(hook.copy().ended), "some last")
		lost.Store(true)
		elapse(t, 5*time.Minute)
		require.ElementsMatch(t, hook.copy().alarms, hook.copy().ended)
		_, err := run.stop()
		require.NoError(t, err)
		require.Len(t, hook.copy().ended, len(hook.copy().alarms), "none ends twice")
	})
}

// panicking is a hook with a bug.
type panicking struct{}

func (panicking) OnRelaySend(context.Context, relay.SendEvent) { panic("on purpose") }

// TestHooks_Panic: the relay goes on, and so do the other hooks.
func TestHooks_Panic(t *testing.T) {
	t.Parallel()
	inLab(t, relay.Config{Hooks: []outbox.Hook{panicking{}}}, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		l.put("t", "k", "k1")
		n, err := r.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Len(t, hook.batches, 1)
	})
}

// TestAlarm_ServerChanged: the relay that leads raises the alarm until an hour after the change was
// noticed. Another change raises it again.
func TestAlarm_ServerChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		src, hook := log.source(), &recorder{}
		cfg := leaseConfig()
		cfg.Hooks = []outbox.Hook{hook}
		lead := func(c driver.ServerChange) *running {
			src.moved = c
			run := start(t, src, takesAll(0), cfg)
			elapse(t, time.Second)
			return run
		}
		stop := func(run *running) {
			_, err := run.stop()
			require.NoError(t, err)
		}
		for _, over := range []driver.ServerChange{{}, {Before: "one", Now: "two", Age: time.Hour}} {
			stop(lead(over))
			require.Zero(t, hook.count(relay.AlarmServerChanged))
		}

		run := lead(driver.ServerChange{Before: "one", Now: "two", Age: 50 * time.Minute})
		require.Equal(t, 1, hook.count(relay.AlarmServerChanged))
		stands := latest(run.State().Alarms)
		require.Equal(t, relay.AlarmServerChanged, stands.Kind)
		for _, text := range []string{"from one to two", "make sure that nothing writes to the former one", "docs/moves.md"} {
			require.Contains(t, stands.Detail, text)
		}
		elapse(t, 9*time.Minute)
		require.Zero(t, hook.countEnded(relay.AlarmServerChanged), "it lasts")
		elapse(t, 2*time.Minute)
		require.Equal(t, 1, hook.countEnded(relay.AlarmServerChanged))
		require.Equal(t, 1, hook.count(relay.AlarmServerChanged))

		src.moved = driver.ServerChange{Before: "one", Now: "two", Age: 10 * time.Minute}
		log.cut()
		elapse(t, time.Minute)
		require.Equal(t, 2, hook.count(relay.AlarmServerChanged))
		src.moved = driver.ServerChange{Before: "two", Now: "three", Age: -time.Hour} // the clock has gone back
		log.cut()
		elapse(t, time.Minute)
		require.Equal(t, []int{3, 2}, []int{hook.count(relay.AlarmServerChanged), hook.countEnded(relay.AlarmServerChanged)}, "another change")
		require.Contains(t, latest(run.State().Alarms).Detail, "from two to three")
		stop(run)
		require.Equal(t, 3, hook.countEnded(relay.AlarmServerChanged))
		require.NoError(t, log.violations())
	})
}
