package relay_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// watched is a source with a clock and pauses. It counts the queries.
type watched struct {
	memorySource

	mu     sync.Mutex
	behind time.Duration   // of its clock
	takes  []time.Duration // that it needs to answer, in turn
	err    error
	clocks int
	pauses int
	dues   int
	tells  bool // what it knows beside the log, with a Read that finds nothing
}

var (
	_ driver.Clocked  = (*watched)(nil)
	_ driver.Pausable = (*watched)(nil)
)

// Now implements driver.Clocked. It reads its clock in the middle of the call.
func (w *watched) Now(ctx context.Context) (time.Time, error) {
	w.mu.Lock()
	takes, behind, err := w.takes[w.clocks%len(w.takes)], w.behind, w.err
	w.clocks++
	w.mu.Unlock()
	_ = wait.For(ctx, takes/2)
	now := time.Now().Add(-behind)
	_ = wait.For(ctx, takes-takes/2)
	return now, err
}

// Paused implements driver.Pausable.
func (w *watched) Paused(context.Context) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pauses++
	return nil, nil
}

// Acquire implements driver.Source.
func (w *watched) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := w.memorySource.Acquire(ctx, ttl)
	if !w.tells {
		s, err = withoutIdle(s, err)
	}
	if err != nil {
		return nil, err
	}
	return watchedSession{s.(memorySession), w}, nil //nolint:forcetypeassert // it is
}

// watchedSession counts the queries for held records that are due.
type watchedSession struct {
	memorySession

	source *watched
}

// Due implements driver.Holder.
func (s watchedSession) Due(ctx context.Context, limit int, except []string) ([]driver.Held, error) {
	s.source.set(func() { s.source.dues++ })
	return s.memorySession.Due(ctx, limit, except)
}

func (w *watched) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// TestState_ClockOffset: ClockOffset is how far this machine's clock is ahead of the source's, even on a
// standby. While the source does not answer, the last value stays.
func TestState_ClockOffset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, hook := newLab(t), &recorder{}
		leader := start(t, l.source(), l, relay.Config{})
		elapse(t, time.Second)
		w := &watched{memorySource: l.source(), behind: time.Minute, takes: []time.Duration{80 * time.Millisecond, 2 * time.Second, 10 * time.Millisecond}}
		run := start(t, w, l, relay.Config{Hooks: []outbox.Hook{hook}})
		require.Zero(t, run.State().ClockAt)
		elapse(t, 10*time.Second)
		s := run.State()
		require.Empty(t, s.Slots, "it stands by")
		require.Equal(t, time.Minute, s.ClockOffset)
		require.NotZero(t, s.ClockAt)
		w.set(func() { w.behind = -time.Hour })
		elapse(t, 2*time.Minute)
		require.Equal(t, -time.Hour, run.State().ClockOffset)
		w.set(func() { w.err = errors.New("no answer") })
		elapse(t, 3*time.Minute)
		require.Equal(t, -time.Hour, run.State().ClockOffset)
		require.NotEmpty(t, hook.copy().errors["clock"])
		_, err := run.stop()
		require.NoError(t, err)
		_, err = leader.stop()
		require.NoError(t, err)
	})
}

// TestPause_IsAskedForOnce: pauses are queried once in PollMax, however many slots a relay leads, and not
// by a standby.
func TestPause_IsAskedForOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		w := &watched{memorySource: l.sourceOf(memoutbox.SourceConfig{Slots: 4}), takes: []time.Duration{0}}
		run := start(t, w, l, relay.Config{})
		elapse(t, 10*time.Second)
		require.Len(t, run.State().Slots, 4)
		w.set(func() { w.pauses = 0 })
		elapse(t, time.Minute)
		w.set(func() { require.InDelta(t, 60, w.pauses, 2) })

		_, err := run.stop()
		require.NoError(t, err)

		l = newLab(t) // with one slot
		leader := start(t, l.source(), l, relay.Config{})
		standby := &watched{memorySource: l.source(), takes: []time.Duration{0}}
		elapse(t, time.Second)
		waits := start(t, standby, l, relay.Config{})
		elapse(t, time.Minute)
		require.Empty(t, waits.State().Slots)
		standby.set(func() { require.Zero(t, standby.pauses) })
		_, err = waits.stop()
		require.NoError(t, err)
		_, err = leader.stop()
		require.NoError(t, err)
	})
}

// TestIdle_SavesQuestions: if the source's reads report whether there is a pause or a held record, an idle
// relay does not query pauses and held records separately.
func TestIdle_SavesQuestions(t *testing.T) {
	t.Parallel()
	for tells, want := range map[bool]float64{true: 0, false: 60} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t)
			w := &watched{memorySource: l.source(), takes: []time.Duration{0}, tells: tells}
			run := start(t, w, l, relay.Config{})
			elapse(t, 10*time.Second)
			w.set(func() { w.pauses, w.dues = 0, 0 })
			elapse(t, time.Minute)
			w.set(func() {
				require.InDelta(t, want, w.pauses, 2)
				require.InDelta(t, want, w.dues, 2)
			})
			_, err := run.stop()
			require.NoError(t, err)
		})
	}
}

// TestIdle_NoticesInTime: an idle relay notices an operator's changes within PollMax.
func TestIdle_NoticesInTime(t *testing.T) {
	t.Parallel()
	inLab(t, relay.Config{Policies: []relay.Policy{{Action: relay.DeadLetter, Attempts: 1}}}, func(t *testing.T, l *lab, r *relay.Relay, _ *recorder) {
		stop := lead(t, r)
		for i := range 20 {
			name := strconv.Itoa(i)
			l.refuse(name, outbox.FailurePermanent)
			l.put("t", name, name)
			elapse(t, time.Minute+time.Duration(i)*77*time.Millisecond)
			require.NotContains(t, l.sent(), name, "it is dead")
			l.allow(name)
			l.redriveDead()
			elapse(t, time.Second)
			require.Contains(t, l.sent(), name)

			pause := admin.PauseRequest{By: operator(), Group: "default", Topics: []string{"p"}}
			require.NoError(t, l.Admin().Pause(t.Context(), pause))
			elapse(t, time.Second)
			l.put("p", "", "paused "+name)
			elapse(t, time.Minute)
			require.NotContains(t, l.sent(), "paused "+name)
			require.NoError(t, l.Admin().Resume(t.Context(), pause))
			elapse(t, afterPause)
			require.Contains(t, l.sent(), "paused "+name)
		}
		stop()
	})
}

// redriveDead redrives the record that was given up most recently.
func (l *lab) redriveDead() {
	l.t.Helper()
	dead, err := l.Admin().Dead(l.t.Context(), admin.HeldQuery{})
	require.NoError(l.t, err)
	_, err = l.Admin().Redrive(l.t.Context(), admin.ChangeRequest{By: operator(), Selection: admin.Selection{ID: dead[len(dead)-1].ID}})
	require.NoError(l.t, err)
}

// TestIdle_BusyRelayAsksItself: a relay that has seen no held records and is too busy for an idle read
// queries held records that are due after PollMax.
func TestIdle_BusyRelayAsksItself(t *testing.T) {
	t.Parallel()
	cfg := relay.Config{PageSize: 1, Policies: []relay.Policy{{Action: relay.DeadLetter, Attempts: 1}}}
	inLab(t, cfg, func(t *testing.T, l *lab, r *relay.Relay, _ *recorder) {
		l.took = 200 * time.Millisecond
		stop := lead(t, r)
		l.refuse("x", outbox.FailurePermanent)
		l.put("t", "k", "x")
		elapse(t, time.Minute)
		l.allow("x")
		for i := range 100 {
			l.put("t", "", strconv.Itoa(i))
		}
		elapse(t, 500*time.Millisecond)
		l.redriveDead()
		elapse(t, 2*time.Second)
		require.Contains(t, l.sent(), "x")
		require.Less(t, len(l.sent()), 50, "there is more to read")
		stop()
	})
}

// reads records the events of reads.
type reads struct {
	mu  sync.Mutex
	all []relay.ReadEvent
}

// OnRelayRead implements relay.ReadHook.
func (r *reads) OnRelayRead(_ context.Context, e relay.ReadEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, e)
}

// TestReadHook: the hook sees reads that returned records, and reads that did not.
func TestReadHook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, hook := newLab(t), &reads{}
		l.put("orders", "k", "one", "three")
		src := &slowReads{memorySource: l.source(), err: errors.New("no answer")}
		run := start(t, src, l, relay.Config{Hooks: []outbox.Hook{hook}})
		elapse(t, 10*time.Second)
		_, err := run.stop()
		require.NoError(t, err)
		require.Equal(t, []string{"one", "three"}, l.sent())
		require.Greater(t, len(hook.all), 3)
		require.Equal(t, relay.ReadEvent{Took: time.Second, Err: src.err}, hook.all[0])
		require.Equal(t, relay.ReadEvent{Records: 2, Bytes: 8, Took: time.Second}, hook.all[1])
		require.Equal(t, relay.ReadEvent{Took: time.Second}, hook.all[2], "it looks for more")
	})
}

// slowReads is a source whose sessions take a second for each read. The first read fails.
type slowReads struct {
	memorySource

	err   error
	tried bool
}

// Acquire implements driver.Source.
func (s *slowReads) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	inner, err := s.memorySource.Acquire(ctx, ttl)
	return slowSession{inner, s}, err
}

type slowSession struct {
	driver.Session

	source *slowReads
}

// Read implements driver.Session.
func (s slowSession) Read(ctx context.Context, limit int) (driver.Page, error) {
	if err := wait.For(ctx, time.Second); err != nil {
		return driver.Page{}, err
	}
	if !s.source.tried {
		s.source.tried = true
		return driver.Page{}, s.source.err
	}
	return s.Session.Read(ctx, limit)
}
