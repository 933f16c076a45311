package relay_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestO8_AllOutProbesWithOneRecord: while every topic has an outage nothing is set aside, and one record
// at a time is tried.
func TestO8_AllOutProbesWithOneRecord(t *testing.T) {
	t.Parallel()
	cfg := relay.Config{BackoffMin: time.Second, BackoffMax: 10 * time.Second, Policies: []relay.Policy{{Attempts: 1}}}
	inLab(t, cfg, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		l.refuse("t", outbox.FailureOutage)
		var want []string
		for i := range 100 {
			want = append(want, strconv.Itoa(i))
		}
		l.put("t", "", want...)
		stop := lead(t, r)
		elapse(t, time.Hour)
		calls := l.calls(0)
		require.Len(t, calls[0], 100)
		for _, c := range calls[1:] {
			require.Equal(t, []string{"0"}, c)
		}
		require.Less(t, len(calls), 3600/4, "the wait between probes doubles")
		s := r.State()
		require.Zero(t, s.Held)
		require.Len(t, s.Out, 1)
		require.ErrorIs(t, s.Out[0].Err, errBroker)
		require.False(t, s.Stuck, "it is the destination's fault")
		require.NoError(t, r.Health(t.Context()))
		require.Equal(t, 1, hook.count(relay.AlarmLag))
		l.allow("t")
		elapse(t, 11*time.Second)
		require.Equal(t, want, l.sent())
		require.Empty(t, hook.copy().holds)
		require.False(t, latest(hook.copy().breakers).Open)
		require.Empty(t, r.State().Out)
		stop()
	})
}

// TestO8_OutageOfOneTopic: the topic's records are set aside without an attempt, there is one probe at a
// time, and other topics do not wait.
func TestO8_OutageOfOneTopic(t *testing.T) {
	t.Parallel()
	cfg := relay.Config{BackoffMin: time.Second, BackoffMax: 10 * time.Second, PollMax: time.Second, Policies: []relay.Policy{{Attempts: 1}}}
	inLab(t, cfg, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		l.refuse("b", outbox.FailureOutage)
		stop := lead(t, r)
		var a, b []string
		for i := range 60 {
			l.put("b", "k"+strconv.Itoa(i%2), "b"+strconv.Itoa(i))
			l.put("a", "k"+strconv.Itoa(i%2), "a"+strconv.Itoa(i))
			a, b = append(a, "a"+strconv.Itoa(i)), append(b, "b"+strconv.Itoa(i))
			elapse(t, 2*time.Second)
			require.Equal(t, a, l.sent(), "not behind the topic that is out")
		}
		probes := 0
		for _, c := range l.calls(0) {
			inCall := 0
			for _, p := range c {
				if p[0] == 'b' {
					inCall++
				}
			}
			require.LessOrEqual(t, inCall, 1)
			probes += inCall
		}
		require.Less(t, probes, 40)
		require.Equal(t, 60, r.State().Held)
		l.allow("b")
		elapse(t, 15*time.Second)
		require.ElementsMatch(t, append(a, b...), l.sent())
		require.Empty(t, l.parked())
		for _, h := range hook.copy().holds {
			require.NotContains(t, h, "park")
		}
		require.Zero(t, r.State().Held)
		stop()
	})
}

// TestO8_MisclassifiedOutage: failures of many keys without a success in between count as an outage.
// Nothing is set aside, and only the record that is tried gets an attempt.
func TestO8_MisclassifiedOutage(t *testing.T) {
	t.Parallel()
	cfg := relay.Config{BackoffMin: time.Second, BackoffMax: 10 * time.Second}
	inLab(t, cfg, func(t *testing.T, l *lab, r *relay.Relay, hook *recorder) {
		l.refuse("t", outbox.FailureUnknown)
		var want []string
		for i := range 50 {
			want = append(want, strconv.Itoa(i))
			l.put("t", "k"+strconv.Itoa(i), want[i])
		}
		stop := lead(t, r)
		elapse(t, 10*time.Minute)
		require.Zero(t, r.State().Held)
		require.True(t, hook.copy().breakers[0].Suspect)
		for _, c := range l.calls(1) {
			require.Len(t, c, 1)
		}
		require.NotEqual(t, l.calls(1)[0], l.calls(2)[0], "the next probe is of another key")
		require.Empty(t, l.parked())
		l.allow("t")
		elapse(t, 11*time.Second)
		require.ElementsMatch(t, want, l.sent())
		stop()
	})
}

// TestO7_ManyPoisonedKeys: five keys that fail in a row look like an outage, but do not delay the other
// keys for long.
func TestO7_ManyPoisonedKeys(t *testing.T) {
	t.Parallel()
	cfg := relay.Config{PageSize: 6, BackoffMin: time.Second, BackoffMax: 10 * time.Second, PollMax: time.Second}
	inLab(t, cfg, func(t *testing.T, l *lab, r *relay.Relay, _ *recorder) {
		var bad []string
		for i := range 6 {
			p := "bad" + strconv.Itoa(i)
			l.refuse(p, outbox.FailureUnknown)
			l.put("t", "k"+strconv.Itoa(i), p)
			bad = append(bad, p)
		}
		l.put("t", "good", "good1", "good2")
		stop := lead(t, r)
		elapse(t, time.Hour)
		require.Equal(t, []string{"good1", "good2"}, l.sent())
		require.Equal(t, bad, l.parked())
		stop()
	})
}

// checkedLab is a lab with a sink that can report whether its destination answers at all.
type checkedLab struct {
	*lab

	err error
}

func (c *checkedLab) Check(context.Context) error { return c.err }

// TestO7_BehindAnOutageUnseen: pages for a topic with an outage hide another topic that was not read yet.
// If the sink reports that its destination answers, they are set aside, slowly. Otherwise they are not.
func TestO7_BehindAnOutageUnseen(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]error{"answers": nil, "does not answer": errBroker} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inLab(t, relay.Config{}, func(t *testing.T, l *lab, _ *relay.Relay, hook *recorder) {
				l.refuse("b", outbox.FailureOutage)
				for i := range 10 {
					l.put("b", "k", "b"+strconv.Itoa(i))
				}
				l.put("a", "k", "a")
				cfg := relay.Config{PageSize: 1, ReadAhead: relay.NoReadAhead, Hooks: []outbox.Hook{hook}}
				r, err := relay.New(l.source(), &checkedLab{l, away}, cfg)
				require.NoError(t, err)
				stop := lead(t, r)
				elapse(t, 15*time.Minute)
				if away == nil {
					require.Equal(t, []string{"a"}, l.sent())
				} else {
					require.Empty(t, hook.copy().holds)
				}
				l.allow("b")
				elapse(t, time.Minute)
				require.Len(t, l.sent(), 11)
				require.Empty(t, l.parked())
				stop()
			})
		})
	}
}
