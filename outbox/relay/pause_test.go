package relay_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// pausable is a source that a test pauses.
type pausable struct {
	memorySource

	mu     sync.Mutex
	topics []string
	err    error
}

var _ driver.Pausable = (*pausable)(nil)

// Paused implements driver.Pausable.
func (p *pausable) Paused(context.Context) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.topics, p.err
}

// Acquire implements driver.Source.
func (p *pausable) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	return withoutIdle(p.memorySource.Acquire(ctx, ttl))
}

// withoutIdle returns a session whose reads do not report whether something is paused or set aside.
func withoutIdle(s driver.Session, err error) (driver.Session, error) {
	if err != nil {
		return nil, err
	}
	return wordless{s.(memorySession)}, nil //nolint:forcetypeassert // it is
}

// memorySession contains the methods of memoutbox's sessions that the relay's tests need.
type memorySession interface {
	driver.Holder
	driver.OutageKeeper
	driver.Positioned
	driver.Slotted
}

type wordless struct{ memorySession }

// Read implements driver.Session.
func (s wordless) Read(ctx context.Context, limit int) (driver.Page, error) {
	p, err := s.memorySession.Read(ctx, limit)
	p.Idle = nil
	return p, err
}

func (p *pausable) pause(topics ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.topics = topics
}

func (p *pausable) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

// inPauseLab runs a test in virtual time with a relay on a source that can be paused.
func inPauseLab(t *testing.T, cfg relay.Config, test func(l *lab, p *pausable, r *relay.Relay, hook *recorder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l, hook := newLab(t), &recorder{}
		p := &pausable{memorySource: l.source()}
		cfg.Hooks = []outbox.Hook{hook}
		r, err := relay.New(p, l, cfg)
		require.NoError(t, err)
		test(l, p, r, hook)
	})
}

// afterPause is longer than a relay takes to notice a pause or its end.
const afterPause = 10 * time.Second

// TestO6_PausedTopicWaits: the records of a paused topic wait in order. They are not tried and count no
// attempt, while those of other topics go on. A pause that begins later applies to later records.
func TestO6_PausedTopicWaits(t *testing.T) {
	t.Parallel()
	inPauseLab(t, relay.Config{}, func(l *lab, p *pausable, r *relay.Relay, hook *recorder) {
		p.pause("mails*")
		l.put("mails.eu", "k", "m1", "m2")
		l.put("orders", "k", "o1")
		l.put("mails.us", "", "m3")
		stop := lead(l.t, r)
		elapse(l.t, afterPause)
		require.Equal(l.t, []string{"o1"}, l.sent())
		require.Equal(l.t, [][]string{{"o1"}}, l.calls(0), "nothing else reaches the sink")
		require.Empty(l.t, l.parked())
		breakers := r.State().Out
		require.Len(l.t, breakers, 2)
		require.ErrorIs(l.t, breakers[0].Err, relay.ErrPaused)
		require.Empty(l.t, hook.copy().alarms)

		p.pause("orders")
		elapse(l.t, afterPause)
		require.Equal(l.t, []string{"m1", "m2"}, slices.DeleteFunc(l.sent(), func(name string) bool { return name == "o1" || name == "m3" }))
		require.Contains(l.t, l.sent(), "m3")
		l.put("orders", "k", "o2", "o3")
		l.put("mails.eu", "k", "m4")
		elapse(l.t, afterPause)
		require.Equal(l.t, "m4", latest(l.sent()))

		p.pause()
		elapse(l.t, afterPause)
		require.Equal(l.t, []string{"o2", "o3"}, l.sent()[5:])
		require.Empty(l.t, r.State().Out)
		stop()
	})
}

// TestO6_PausedGroupSetsNothingAside: a group that is paused as a whole stays at its position and sets
// nothing aside, even if it starts paused. It stops cleanly.
func TestO6_PausedGroupSetsNothingAside(t *testing.T) {
	t.Parallel()
	inPauseLab(t, relay.Config{}, func(l *lab, p *pausable, r *relay.Relay, hook *recorder) {
		p.pause("*")
		l.put("orders", "k", "1", "2")
		l.put("mails", "", "3")
		stop := lead(l.t, r)
		elapse(l.t, 10*afterPause)
		require.Empty(l.t, l.calls(0))
		require.Zero(l.t, r.State().Held)
		require.Empty(l.t, hook.copy().alarms)
		elapse(l.t, 10*time.Minute)
		require.NoError(l.t, r.Health(l.t.Context()), "a pause is not a reason to restart")
		require.Zero(l.t, hook.count(relay.AlarmStuck))
		stop()
		stop = lead(l.t, r)
		elapse(l.t, afterPause)
		require.Empty(l.t, l.calls(0))
		p.pause()
		elapse(l.t, afterPause)
		require.Equal(l.t, []string{"1", "2"}, slices.DeleteFunc(l.sent(), func(name string) bool { return name == "3" }))
		require.Contains(l.t, l.sent(), "3")
		stop()
	})
}

// TestO6_PausedGroupAfterATopic: records that were refused before the whole group was paused are not set
// aside during the pause.
func TestO6_PausedGroupAfterATopic(t *testing.T) {
	t.Parallel()
	inPauseLab(t, relay.Config{}, func(l *lab, p *pausable, r *relay.Relay, _ *recorder) {
		p.pause("mails")
		l.put("mails", "k", "m1")
		stop := lead(l.t, r)
		elapse(l.t, afterPause)
		require.Equal(l.t, 1, r.State().Held)
		p.pause("*", "mails")
		elapse(l.t, afterPause)
		l.put("mails", "k", "m2")
		l.put("mails", "", "m3")
		elapse(l.t, 10*afterPause)
		require.Equal(l.t, 1, r.State().Held)
		p.pause()
		elapse(l.t, 2*afterPause)
		require.ElementsMatch(l.t, []string{"m1", "m2", "m3"}, l.sent())
		require.Zero(l.t, r.State().Held)
		stop()
	})
}

// TestPause_EndsIntoARealRefusal: after the pause the destination itself refuses what it cannot accept,
// and an alarm is raised.
func TestPause_EndsIntoARealRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, hook := newLab(t), &recorder{}
		c := &cluster{missing: map[string]bool{"mails": true}}
		p := &pausable{memorySource: l.source()}
		p.pause("mails")
		r, err := relay.New(p, asking{c}, relay.Config{Hooks: []outbox.Hook{hook}})
		require.NoError(t, err)
		l.put("mails", "k", "m1")
		l.put("orders", "", "o1")
		stop := lead(t, r)
		elapse(t, afterPause)
		require.Zero(t, hook.count(relay.AlarmUnavailable))
		p.pause()
		elapse(t, 2*afterPause)
		require.Equal(t, 1, hook.count(relay.AlarmUnavailable))
		require.NotErrorIs(t, r.State().Out[0].Err, relay.ErrPaused)
		c.create("mails")
		elapse(t, 2*afterPause)
		got, _, _ := c.take()
		require.Contains(t, got, "m1")
		stop()
	})
}

// TestPause_WhatWasKnownHolds: while the source cannot report pauses, a relay that leads goes on as
// before, and no other relay begins.
func TestPause_WhatWasKnownHolds(t *testing.T) {
	t.Parallel()
	inPauseLab(t, relay.Config{}, func(l *lab, p *pausable, r *relay.Relay, _ *recorder) {
		p.fail(errors.New("no answer"))
		l.put("orders", "", "1")
		stop := lead(l.t, r)
		elapse(l.t, afterPause)
		require.Empty(l.t, l.calls(0), "nobody knows what is paused")
		p.fail(nil)
		p.pause("mails")
		elapse(l.t, afterPause)
		require.Equal(l.t, []string{"1"}, l.sent())
		p.fail(errors.New("no answer"))
		p.pause()
		l.put("mails", "", "2")
		l.put("orders", "", "3")
		elapse(l.t, afterPause)
		require.Equal(l.t, []string{"1", "3"}, l.sent())
		stop()
	})
}

// TestO5_PausesThatChangeKeepTheOrder pauses and resumes topics repeatedly while records of few keys are
// sent.
func TestO5_PausesThatChangeKeepTheOrder(t *testing.T) {
	t.Parallel()
	inPauseLab(t, relay.Config{PollMax: 5 * time.Millisecond, PageSize: 7}, func(l *lab, p *pausable, r *relay.Relay, _ *recorder) {
		l.took = time.Millisecond
		stop := lead(l.t, r)
		want := map[string][]string{}
		for i := range 300 {
			topic := []string{"a", "b", "c"}[i%3]
			name := fmt.Sprint(topic, i)
			want[topic] = append(want[topic], name)
			l.put(topic, "k", name)
			p.pause([][]string{nil, {"a"}, {"a", "b"}, {"*"}, {"c"}}[i/2%5]...)
			elapse(l.t, time.Duration(i%4)*time.Millisecond)
		}
		p.pause()
		elapse(l.t, 6*afterPause)
		got := map[string][]string{}
		for _, name := range l.sent() {
			got[name[:1]] = append(got[name[:1]], name)
		}
		require.Equal(l.t, want, got)
		stop()
	})
}

// TestO12_PauseOfATransactionalSink: the records before a paused one are committed, and
// nothing passes it.
func TestO12_PauseOfATransactionalSink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, sink, alarms := newLab(t), newFakeTransactions(), &alarmLog{}
		p := &pausable{memorySource: l.source()}
		p.pause("mails")
		l.put("orders", "", "1")
		l.put("mails", "", "2")
		l.put("orders", "", "3")
		r, err := relay.New(p, sink, relay.Config{AdoptPosition: true, Hooks: []outbox.Hook{alarms}})
		require.NoError(t, err)
		stop := lead(t, r)
		elapse(t, afterPause)
		committed, _ := sink.state()
		require.Equal(t, []string{"1"}, committed)
		require.Empty(t, alarms.seen())
		elapse(t, 10*time.Minute)
		require.NoError(t, r.Health(t.Context()), "a pause is not a reason to restart")
		p.pause()
		elapse(t, afterPause)
		committed, _ = sink.state()
		require.Equal(t, []string{"1", "2", "3"}, committed)
		stop()
	})
}

// TestO12_PauseOfTotalOrder: nothing passes a record that is paused.
func TestO12_PauseOfTotalOrder(t *testing.T) {
	t.Parallel()
	inPauseLab(t, relay.Config{TotalOrder: true, Policies: []relay.Policy{{Action: relay.Block}}}, func(l *lab, p *pausable, r *relay.Relay, _ *recorder) {
		p.pause("mails")
		l.put("orders", "", "1")
		l.put("mails", "", "2")
		l.put("orders", "", "3")
		stop := lead(l.t, r)
		elapse(l.t, afterPause)
		require.Equal(l.t, []string{"1"}, l.sent())
		p.pause()
		elapse(l.t, afterPause)
		require.Equal(l.t, []string{"1", "2", "3"}, l.sent())
		stop()
	})
}

// TestRunOnce_LeavesWhatIsPaused: RunOnce sends what is not paused, reports that there is more, and does
// not wait for an operator. After the pause it sends the rest, in order.
func TestRunOnce_LeavesWhatIsPaused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		paused      []string
		total       bool
		first, rest []string
	}{
		"a topic":                 {[]string{"mails"}, false, []string{"o1", "o2"}, []string{"m1", "m2"}},
		"the group":               {[]string{"*"}, false, nil, []string{"o1", "m1", "m2", "o2"}},
		"a topic, in total order": {[]string{"mails"}, true, []string{"o1"}, []string{"m1", "m2", "o2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := relay.Config{}
			if c.total {
				cfg.TotalOrder, cfg.Policies = true, []relay.Policy{{Action: relay.Block}}
			}
			inPauseLab(t, cfg, func(l *lab, p *pausable, r *relay.Relay, hook *recorder) {
				p.pause(c.paused...)
				l.put("orders", "k", "o1")
				l.put("mails", "k", "m1", "m2")
				l.put("orders", "k", "o2")
				began := time.Now()
				n, err := r.RunOnce(l.t.Context())
				require.ErrorIs(l.t, err, relay.ErrPaused)
				require.Len(l.t, c.first, n)
				require.Equal(l.t, c.first, l.sent())
				require.Less(l.t, time.Since(began), afterPause)
				leases := hook.copy().leases
				require.NoError(l.t, leases[len(leases)-1].err, "the lease was released")

				p.pause()
				elapse(l.t, afterPause)
				_, err = r.RunOnce(l.t.Context())
				require.NoError(l.t, err)
				require.Equal(l.t, c.rest, l.sent()[len(c.first):])
				require.Empty(l.t, l.parked())
			})
		})
	}
}

// TestRunOnce_WaitsForOthersThanPaused: RunOnce waits for the end of an outage, but not for that of a
// pause at the same time.
func TestRunOnce_WaitsForOthersThanPaused(t *testing.T) {
	t.Parallel()
	inPauseLab(t, relay.Config{}, func(l *lab, p *pausable, r *relay.Relay, _ *recorder) {
		p.pause("mails")
		l.put("mails", "", "m1")
		l.put("orders", "", "o1")
		l.refuse("orders", outbox.FailureOutage)
		go func() {
			_ = wait.For(l.t.Context(), time.Minute)
			l.allow("orders")
		}()
		_, err := r.RunOnce(l.t.Context())
		require.ErrorIs(l.t, err, relay.ErrPaused)
		require.Equal(l.t, []string{"o1"}, l.sent())
	})
}

// TestRunOnce_PauseOfATransactionalSink: the records before a paused one are committed.
func TestRunOnce_PauseOfATransactionalSink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, sink := newLab(t), newFakeTransactions()
		p := &pausable{memorySource: l.source()}
		p.pause("mails")
		l.put("orders", "", "1")
		l.put("mails", "", "2")
		r, err := relay.New(p, sink, relay.Config{AdoptPosition: true})
		require.NoError(t, err)
		n, err := r.RunOnce(t.Context())
		require.ErrorIs(t, err, relay.ErrPaused)
		require.Equal(t, 1, n)
		p.pause()
		n, err = r.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		committed, _ := sink.state()
		require.Equal(t, []string{"1", "2"}, committed)
	})
}
