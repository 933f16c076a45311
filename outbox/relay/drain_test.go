package relay_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// TestO13_StopAwaitsTheAcks: a stop waits for the answers for the page that was sent. Pages behind it are
// not sent any more.
func TestO13_StopAwaitsTheAcks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, sink := newFakeLog(50), takesAll(3*time.Second)
		run := start(t, log.source(), sink, relay.Config{PageSize: 10})
		elapse(t, time.Second)
		took, err := run.stop()
		require.NoError(t, err)
		require.Equal(t, 2*time.Second, took)
		require.Equal(t, 10, log.settled())
		require.Equal(t, ids(10), sink.sent())
		clean(t, log)
	})
}

// TestO13_StopIsBounded: a stop takes at most DrainTimeout, whether the sink, the position or the release
// hangs. Nothing else delays it.
func TestO13_StopIsBounded(t *testing.T) {
	t.Parallel()
	hang := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	for name, c := range map[string]struct {
		sink  time.Duration
		spoil func(s *fakeSource)
		err   error
	}{
		"sink":             {time.Hour, func(*fakeSource) {}, relay.ErrDrainTimeout},
		"advance":          {time.Second, func(s *fakeSource) { s.advance = hang }, relay.ErrDrainTimeout},
		"release":          {time.Second, func(s *fakeSource) { s.release = hang }, relay.ErrDrainTimeout},
		"sink and release": {time.Hour, func(s *fakeSource) { s.release = hang }, relay.ErrDrainTimeout},
		"nothing":          {time.Second, func(*fakeSource) {}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog(50)
				src := log.source()
				c.spoil(src)
				cfg := relay.Config{PageSize: 10, Lease: time.Hour, PublishTimeout: 30 * time.Minute, DrainTimeout: 4 * time.Second}
				run := start(t, src, takesAll(c.sink), cfg)
				elapse(t, 500*time.Millisecond)
				took, err := run.stop()
				require.LessOrEqual(t, took, cfg.DrainTimeout)
				if c.err != nil {
					require.ErrorIs(t, err, c.err)
				} else {
					require.NoError(t, err)
				}
				clean(t, log)
			})
		})
	}
}

// TestO13_SlowSinkIsNoReasonToEnd: after a failure of the source, a drain that takes too long ends the
// term, but not Run.
func TestO13_SlowSinkIsNoReasonToEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(2)
		src := log.source()
		src.failRead(2, time.Second) // while the first page is being sent
		sink := &fakeSink{answer: func(ctx context.Context, n int, records []outbox.Record) []outbox.Result {
			if n == 1 {
				return acked(ctx, time.Hour, records)
			}
			return acked(ctx, 0, records)
		}}
		cfg := relay.Config{PageSize: 1, Lease: time.Hour, PublishTimeout: 30 * time.Minute, DrainTimeout: time.Second}
		run := start(t, src, sink, cfg)
		elapse(t, time.Minute)
		require.Equal(t, 2, log.settled())
		_, err := run.stop()
		require.NoError(t, err)
		clean(t, log)
	})
}

// TestO13_StopWhileWaiting: a relay that waits, whatever for, stops at once.
func TestO13_StopWhileWaiting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(s *fakeSource)
		sink  *fakeSink
	}{
		"idle":    {func(s *fakeSource) { s.log.records = nil }, takesAll(0)},
		"standby": {func(s *fakeSource) { s.acquire = func() error { return driver.ErrLeaseHeld } }, takesAll(0)},
		"backoff": {func(s *fakeSource) { s.acquire = func() error { return errAway } }, takesAll(0)},
		"failing sink": {func(*fakeSource) {}, &fakeSink{answer: func(_ context.Context, _ int, records []outbox.Record) []outbox.Result {
			results := make([]outbox.Result, len(records))
			results[0] = outbox.Failed(outbox.FailureOutage, errBroker)
			return results
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog(3)
				src := log.source()
				c.spoil(src)
				run := start(t, src, c.sink, relay.Config{PollMin: time.Minute, PollMax: time.Minute, BackoffMin: time.Minute, BackoffMax: time.Minute})
				elapse(t, 10*time.Minute)
				took, err := run.stop()
				require.NoError(t, err)
				require.Zero(t, took)
				require.Zero(t, log.settled())
				clean(t, log)
			})
		})
	}
}
