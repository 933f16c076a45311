package relay_test

import (
	"context"
	"errors"
	"strconv"
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

var errAway = errors.New("database is unavailable")

// running is a relay that runs in the background, in virtual time.
type running struct {
	*relay.Relay

	cancel context.CancelFunc
	done   chan error
}

func start(t *testing.T, src driver.Source, sink driver.Sink, cfg relay.Config) *running {
	t.Helper()
	r, err := relay.New(src, sink, cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	run := &running{Relay: r, cancel: cancel, done: make(chan error, 1)}
	go func() { run.done <- r.Run(ctx) }()
	return run
}

// stop stops the relay. It returns how long that took and the error of Run.
func (r *running) stop() (time.Duration, error) {
	began := time.Now()
	r.cancel()
	err := <-r.done
	return time.Since(began), err
}

// elapse lets virtual time pass.
func elapse(t *testing.T, d time.Duration) {
	t.Helper()
	require.NoError(t, wait.For(t.Context(), d))
	synctest.Wait()
}

// ids are the ids of the first n records.
func ids(n int) []string {
	var all []string
	for i := range n {
		all = append(all, strconv.Itoa(i+1))
	}
	return all
}

// clean checks that the relay has kept the rules of the log and left nothing behind.
func clean(t *testing.T, l *fakeLog) {
	t.Helper()
	require.NoError(t, l.violations())
	require.Zero(t, l.open, "sessions that were not released")
}

// TestRun_O13: Run relays existing and new records, and stops cleanly.
func TestRun_O13(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, sink := newFakeLog(25), takesAll(10*time.Millisecond)
		run := start(t, log.source(), sink, relay.Config{PageSize: 10})
		elapse(t, time.Minute)
		require.Equal(t, 25, log.settled())
		log.add(5)
		elapse(t, 2*time.Second)
		require.Equal(t, ids(30), sink.sent())
		took, err := run.stop()
		require.NoError(t, err)
		require.Zero(t, took)
		require.Nil(t, log.holder)
		clean(t, log)
	})
}

func TestRun_Twice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := relay.New(newFakeLog(0).source(), takesAll(0), relay.Config{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		require.ErrorIs(t, r.Run(ctx), outbox.ErrAlreadyRunning)
		_, err = r.RunOnce(ctx)
		require.ErrorIs(t, err, outbox.ErrAlreadyRunning)
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, r.Run(ctx), "again, with a context that has ended")
	})
}

// TestRun_UnusableSource: an unusable source ends Run, wherever the source reports it. Nothing else does.
func TestRun_UnusableSource(t *testing.T) {
	t.Parallel()
	fatal := errors.Join(errAway, driver.ErrSourceUnusable)
	fails := func(context.Context) error { return fatal }
	for name, spoil := range map[string]func(s *fakeSource){
		"check":   func(s *fakeSource) { s.check = func() error { return fatal } },
		"acquire": func(s *fakeSource) { s.acquire = func() error { return fatal } },
		"read":    func(s *fakeSource) { s.read = fails },
		"advance": func(s *fakeSource) { s.advance = fails },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog(3)
				src := log.source()
				spoil(src)
				alarms := make(unusableAlarms, 10)
				require.ErrorIs(t, <-start(t, src, takesAll(0), relay.Config{Hooks: []outbox.Hook{alarms}}).done, driver.ErrSourceUnusable)
				require.Len(t, alarms, 1)
				require.Equal(t, relay.AlarmSourceUnusable, (<-alarms).Kind)
				clean(t, log)
			})
		})
	}
}

type unusableAlarms chan outbox.AlarmEvent

func (u unusableAlarms) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) { u <- e }

// TestRun_EverythingElseIsRetried: all other errors are retried with backoff, and shown to the hooks.
func TestRun_EverythingElseIsRetried(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"check", "acquire", "read", "advance", "release"} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog(3)
				src := log.source()
				failures := 0
				fail := func() error {
					if failures++; failures <= 4 {
						return errAway
					}
					return nil
				}
				failCtx := func(context.Context) error { return fail() }
				switch operation {
				case "check":
					src.check = fail
				case "acquire":
					src.acquire = fail
				case "read":
					src.read = failCtx
				case "advance":
					src.advance = failCtx
				default:
					src.release = failCtx
					src.read = func(context.Context) error { return errAway }
				}
				hook := &recorder{}
				run := start(t, src, takesAll(0), relay.Config{Hooks: []outbox.Hook{hook}})
				elapse(t, 2*time.Minute)
				if operation != "release" {
					require.Equal(t, 3, log.settled())
				}
				_, err := run.stop()
				require.NoError(t, err)
				require.GreaterOrEqual(t, len(hook.errors[operation]), 4)
				require.ErrorIs(t, hook.errors[operation][0], errAway)
				clean(t, log)
			})
		})
	}
}

// TestRun_BackoffGrowsAndIsReset: the wait doubles with each failure in a row,
// within its bounds, and starts over after a success.
func TestRun_BackoffGrowsAndIsReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(2)
		sink := &fakeSink{answer: func(_ context.Context, n int, records []outbox.Record) []outbox.Result {
			results := make([]outbox.Result, len(records))
			if n <= 8 || n == 10 {
				results[0] = outbox.Failed(outbox.FailureOutage, errBroker)
			}
			return results
		}}
		run := start(t, log.source(), sink, relay.Config{PageSize: 1, BackoffMin: 100 * time.Millisecond, BackoffMax: 3 * time.Second})
		elapse(t, time.Minute)
		_, err := run.stop()
		require.NoError(t, err)
		calls := sink.called()
		require.Len(t, calls, 11)
		gap := func(i int) time.Duration { return calls[i].began.Sub(calls[i-1].ended) }
		want := 100 * time.Millisecond
		for i := 1; i <= 8; i++ {
			require.LessOrEqual(t, gap(i), want, "retry %d", i)
			require.GreaterOrEqual(t, gap(i), want/2, "retry %d", i)
			want = min(2*want, 3*time.Second)
		}
		require.LessOrEqual(t, gap(10), 100*time.Millisecond, "after a success it starts over")
		require.Equal(t, 2, log.settled())
		clean(t, log)
	})
}

// TestRun_IdlePolling: the polls of an idle source become rarer, up to PollMax. A wake ends the wait.
func TestRun_IdlePolling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, sink := newFakeLog(0), takesAll(0)
		src := log.source()
		src.wakes = make(chan struct{}, 1)
		var reads atomic.Int64
		src.read = func(context.Context) error {
			reads.Add(1)
			return nil
		}
		run := start(t, src, sink, relay.Config{PollMin: 10 * time.Millisecond, PollMax: time.Hour})
		elapse(t, time.Second)
		require.Greater(t, reads.Load(), int64(4))
		require.Less(t, reads.Load(), int64(20))
		elapse(t, 100*time.Hour)
		require.Less(t, reads.Load(), int64(300), "once or twice an hour")
		log.add(1)
		src.wakes <- struct{}{}
		synctest.Wait()
		require.Equal(t, ids(1), sink.sent(), "at once")
		_, err := run.stop()
		require.NoError(t, err)
		clean(t, log)
	})
}

// TestRun_WakeAheadOfTheRows: a change log can wake the relay before the rows are visible. So after a wake
// the relay polls as often as at first.
func TestRun_WakeAheadOfTheRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, sink := newFakeLog(0), takesAll(0)
		src := log.source()
		src.wakes = make(chan struct{}, 1)
		run := start(t, src, sink, relay.Config{PollMin: 2 * time.Millisecond, PollMax: time.Hour})
		elapse(t, 100*time.Hour)
		src.wakes <- struct{}{}
		synctest.Wait()
		log.add(1)
		elapse(t, 2*time.Millisecond)
		require.Equal(t, ids(1), sink.sent())
		_, err := run.stop()
		require.NoError(t, err)
		clean(t, log)
	})
}
