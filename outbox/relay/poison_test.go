package relay_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestO7_PoisonCostsTheOthersOneMoreCall: a record that fails for an unknown reason is sent again at once,
// and is then set aside with its key. Later records pass it.
func TestO7_PoisonCostsTheOthersOneMoreCall(t *testing.T) {
	t.Parallel()
	cfg := relay.Config{BackoffMin: time.Second, BackoffMax: 8 * time.Second, PollMax: time.Second}
	inLab(t, cfg, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		l.refuse("k1", outbox.FailureUnknown)
		l.put("t", "k", "k1", "k2")
		l.put("t", "l", "l1")
		l.put("t", "", "u1")
		stop := lead(t, r)
		elapse(t, 10*time.Millisecond)
		require.Equal(t, [][]string{{"k1", "k2", "l1", "u1"}, {"k1", "k2"}}, l.calls(0))
		require.Equal(t, []string{"retry k1", "wait k2"}, hook.copy().holds)
		l.put("t", "k", "k3")
		l.put("t", "l", "l2")
		elapse(t, time.Second/4)
		require.Equal(t, []string{"l1", "u1", "l2"}, l.sent())
		require.Equal(t, [][]string{{"l2"}}, l.calls(2), "not k3, behind a key that is held")
		elapse(t, 10*time.Minute)

		// The key alone was tried, with a wait that doubles, and is parked after ten
		// attempts.
		require.Equal(t, []string{"k1", "k2", "k3"}, l.parked())
		require.Len(t, l.times(), 3+8)
		want := 2 * time.Second
		for i := 4; i < len(l.times()); i++ {
			want = min(2*want, 8*time.Second)
			gap := l.times()[i].Sub(l.times()[i-1])
			require.LessOrEqual(t, gap, want)
			require.GreaterOrEqual(t, gap, want/2)
		}
		require.Equal(t, 1, hook.count(relay.AlarmParked))
		l.allow("k1")
		l.redrive("k")
		elapse(t, 2*time.Second)
		require.Equal(t, []string{"l1", "u1", "l2", "k1", "k2", "k3"}, l.sent())
		require.Zero(t, r.State().Held)
		stop()
	})
}

// TestO7_CulpritOfABatch: if a sink names the failing record only at the second call, the other records
// get no attempts.
func TestO7_CulpritOfABatch(t *testing.T) {
	t.Parallel()
	inLab(t, relay.Config{}, func(t *testing.T, l *lab, _ *relay.Relay, hook *recorder) {
		l.put("t", "a", "1")
		l.put("t", "b", "2")
		l.put("t", "c", "3")
		sink := &fakeSink{answer: func(_ context.Context, n int, records []outbox.Record) []outbox.Result {
			results := make([]outbox.Result, len(records))
			switch n {
			case 1:
				results[0] = outbox.Failed(outbox.FailureUnknown, errBroker)
				results[1], results[2] = outbox.NotSent(), outbox.NotSent()
			case 2:
				results[1] = outbox.Failed(outbox.FailurePermanent, errBroker)
			}
			return results
		}}
		n, err := once(t, l.source(), sink, relay.Config{Hooks: []outbox.Hook{hook}}).RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.Equal(t, []string{"2"}, l.parked())
		require.Equal(t, []string{"park 2"}, hook.copy().holds)
		require.Len(t, sink.called(), 2)
	})
}

// TestPolicies: the first policy whose pattern matches applies.
func TestPolicies(t *testing.T) {
	t.Parallel()
	cfg := relay.Config{Policies: []relay.Policy{
		{Topics: "dead.*", Action: relay.DeadLetter, Attempts: 3},
		{Topics: "skip.*", Action: relay.Skip, Attempts: 1},
		{Topics: "block.*", Action: relay.Block},
	}}
	inLab(t, cfg, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		for _, topic := range []string{"dead.1", "skip.1", "block.1", "else"} {
			l.put(topic, "k", topic+" bad", topic+" next")
			l.refuse(topic+" bad", outbox.FailureUnknown)
		}
		l.put("block.2", "k", "block.2 bad", "block.2 next")
		l.refuse("block.2 bad", outbox.FailurePermanent)
		stop := lead(t, r)
		elapse(t, time.Hour)
		require.ElementsMatch(t, []string{"dead.1 next", "skip.1 next"}, l.sent())
		require.Equal(t, []string{"else bad", "else next"}, l.parked())
		dead, err := l.Admin().Dead(t.Context(), admin.HeldQuery{})
		require.NoError(t, err)
		require.Len(t, dead, 1)
		require.Len(t, dead[0].Errors, 3)
		require.Equal(t, "delivery has failed 3 times", dead[0].Reason)
		skipped, err := l.Admin().Audit(t.Context(), admin.AuditQuery{Action: "skip"})
		require.NoError(t, err)
		require.Len(t, skipped, 1)
		require.Contains(t, hook.copy().holds, "skip skip.1 bad")
		l.allow("block.1 bad")
		l.allow("block.2 bad")
		elapse(t, 10*time.Second)
		require.Len(t, l.sent(), 6)
		stop()
	})
}

// TestO7_MaxHeld: at MaxHeld the relay stops at the page, reports that once, and goes on when there is
// room.
func TestO7_MaxHeld(t *testing.T) {
	t.Parallel()
	inLab(t, relay.Config{MaxHeld: 3, PageSize: 2, PollMax: time.Second}, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		l.refuse("k1", outbox.FailureUnknown)
		l.put("t", "k", "k1", "k2", "k3", "k4", "k5")
		l.put("t", "l", "l1")
		stop := lead(t, r)
		elapse(t, 10*time.Minute)
		require.Equal(t, []string{"k1", "k2", "k3"}, l.parked())
		require.Equal(t, 1, hook.count(relay.AlarmHeldCap))
		require.Empty(t, l.sent(), "l1 is behind the page")
		l.allow("k1")
		l.redrive("k")
		elapse(t, 20*time.Second)
		require.Equal(t, []string{"k1", "k2", "k3", "k4", "k5", "l1"}, l.sent())
		stop()
	})
}

// TestO7_MaxHeldAfterADrop: records that operators drop make room, too. The next time that there is no
// room, it is reported again.
func TestO7_MaxHeldAfterADrop(t *testing.T) {
	t.Parallel()
	inLab(t, relay.Config{MaxHeld: 2, PageSize: 2, PollMax: time.Second}, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		stop := lead(t, r)
		drop := func() {
			for _, key := range l.parked() {
				l.drop(key)
			}
			elapse(t, time.Minute)
		}
		for round := range 3 {
			for _, name := range []string{"a", "b", "c"} {
				l.refuse(name, outbox.FailurePermanent)
				l.put("t", name, name)
			}
			elapse(t, 10*time.Minute)
			l.put("t", "l", "l")
			elapse(t, time.Minute)
			require.Equal(t, []string{"a", "b"}, l.parked())
			require.Equal(t, round+1, hook.count(relay.AlarmHeldCap))
			require.Len(t, l.sent(), round, "what comes later is behind the page")
			drop()
			require.Equal(t, []string{"c"}, l.parked())
			require.Len(t, l.sent(), round+1)
			drop()
		}
		stop()
	})
}

// TestRunOnce_WaitsForRetries: RunOnce waits for retries, but not for parked records.
func TestRunOnce_WaitsForRetries(t *testing.T) {
	t.Parallel()
	inLab(t, relay.Config{}, func(t *testing.T, l *lab, r *relay.Relay, _ *recorder) {
		l.refuse("k1", outbox.FailureUnknown)
		l.refuse("p1", outbox.FailurePermanent)
		l.put("t", "k", "k1", "k2")
		l.put("t", "p", "p1", "p2")
		timer := time.AfterFunc(3*time.Second, func() { l.allow("k1") })
		defer timer.Stop()
		n, err := r.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.Equal(t, []string{"k1", "k2"}, l.sent())
		require.Equal(t, []string{"p1", "p2"}, l.parked())
		l.refuse("q1", outbox.FailureUnknown)
		l.put("t", "q", "q1")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = r.RunOnce(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// TestO6_ManyParkedKeys: pages pass all of many parked keys.
func TestO6_ManyParkedKeys(t *testing.T) {
	t.Parallel()
	cfg := relay.Config{PageSize: 7, Policies: []relay.Policy{{Attempts: 1}}}
	inLab(t, cfg, func(t *testing.T, l *lab, r *relay.Relay, _ *recorder) {
		var good, bad []string
		for i := range 60 {
			key := "k" + strconv.Itoa(i)
			if i%3 == 0 {
				l.refuse(key+"-1", outbox.FailurePermanent)
				bad = append(bad, key+"-1", key+"-2")
			} else {
				good = append(good, key+"-1", key+"-2")
			}
			l.put("t", key, key+"-1", key+"-2")
		}
		_, err := r.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, good, l.sent())
		require.Equal(t, bad, l.parked())
		_, err = r.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, good, l.sent(), "nothing of a parked key")
	})
}

// lateHolder is a session whose first Hasten has no effect, since the clock is then still ahead.
type lateHolder struct {
	driver.Holder

	hastened int
}

func (h *lateHolder) Hasten(ctx context.Context, within time.Duration) error {
	h.hastened++
	if h.hastened == 1 {
		return nil
	}
	return h.Holder.Hasten(ctx, within)
}

// lateSource has sessions that are lateHolders.
type lateSource struct {
	driver.Source

	holder *lateHolder
}

func (s *lateSource) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	session, err := s.Source.Acquire(ctx, ttl)
	if err != nil {
		return nil, err
	}
	s.holder = &lateHolder{Holder: session.(driver.Holder)} //nolint:forcetypeassert // it is one
	return s.holder, nil
}

// TestO14_WhatAnotherTermHasSetAsideIsHastened: a term begins while the clock is ahead, and does not know
// which records an earlier term has set aside for a retry. Once the clock is right, they are retried
// within a minute.
func TestO14_WhatAnotherTermHasSetAsideIsHastened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.put("orders", "", "a")
		src := l.Source(memoutbox.SourceConfig{})
		s, err := src.Acquire(t.Context(), time.Hour)
		require.NoError(t, err)
		page, err := s.Read(t.Context(), 10)
		require.NoError(t, err)
		require.NoError(t, s.(driver.Holder).Hold(t.Context(), page, 1, []driver.Holding{{Fate: driver.FateRetry, RetryIn: 3 * time.Hour}})) //nolint:forcetypeassert // it is one
		require.NoError(t, s.Release(t.Context()))
		late := &lateSource{Source: src}
		run := start(t, late, l, relay.Config{})
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"a"}, l.sent())
		before := late.holder.hastened
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Equal(t, before, late.holder.hastened, "nothing is held any more")
		_, err = run.stop()
		require.NoError(t, err)
	})
}
