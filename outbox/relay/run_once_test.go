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

func once(t *testing.T, src driver.Source, sink driver.Sink, cfg relay.Config) *relay.Relay {
	t.Helper()
	r, err := relay.New(src, sink, cfg)
	require.NoError(t, err)
	return r
}

// TestRunOnce: RunOnce drains what is there, through failures of the sink, and returns.
func TestRunOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(25)
		sink := &fakeSink{answer: func(ctx context.Context, n int, records []outbox.Record) []outbox.Result {
			results := acked(ctx, time.Second, records)
			if n == 2 {
				results[3] = outbox.Failed(outbox.FailureOutage, errBroker)
			}
			return results
		}}
		r := once(t, log.source(), sink, relay.Config{PageSize: 10})
		n, err := r.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, 25, n)
		require.Equal(t, 25, log.settled())
		require.Nil(t, log.holder)
		n, err = r.RunOnce(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		clean(t, log)
	})
}

// TestRunOnce_LeaseHeld: RunOnce returns at once if another relay has the lease.
func TestRunOnce_LeaseHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		leader := start(t, log.source(), takesAll(0), relay.Config{})
		synctest.Wait()
		began := time.Now()
		_, err := once(t, log.source(), takesAll(0), relay.Config{}).RunOnce(t.Context())
		require.ErrorIs(t, err, driver.ErrLeaseHeld)
		require.Zero(t, time.Since(began))
		var held *driver.LeaseHeldError
		require.ErrorAs(t, err, &held)
		require.ErrorContains(t, err, "another, for another 15s")
		_, err = leader.stop()
		require.NoError(t, err)
		clean(t, log)
	})
}

// TestRunOnce_SourceFails: RunOnce returns the error of the source, and the number of records acknowledged
// before.
func TestRunOnce_SourceFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(s *fakeSource)
		want  int
	}{
		"check":   {func(s *fakeSource) { s.check = func() error { return errAway } }, 0},
		"acquire": {func(s *fakeSource) { s.acquire = func() error { return errAway } }, 0},
		"read":    {func(s *fakeSource) { s.failRead(2, 500*time.Millisecond) }, 1}, // while the first page is being sent
		"advance": {func(s *fakeSource) { s.advance = func(context.Context) error { return errAway } }, 0},
		"release": {func(s *fakeSource) { s.release = func(context.Context) error { return errAway } }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog(3)
				src := log.source()
				c.spoil(src)
				n, err := once(t, src, takesAll(time.Second), relay.Config{PageSize: 1}).RunOnce(t.Context())
				require.ErrorIs(t, err, errAway)
				require.Equal(t, c.want, n)
				clean(t, log)
			})
		})
	}
}

// TestRunOnce_ContextEnds: the sink fails until ctx ends. What was acknowledged before is settled.
func TestRunOnce_ContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(5)
		sink := &fakeSink{answer: func(_ context.Context, _ int, records []outbox.Record) []outbox.Result {
			results := make([]outbox.Result, len(records))
			results[min(2, len(records)-1)] = outbox.Failed(outbox.FailureOutage, errBroker)
			return results
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		n, err := once(t, log.source(), sink, relay.Config{}).RunOnce(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 2, n)
		require.Equal(t, 2, log.settled())
		clean(t, log)
	})
}

// behind is a source whose clock is behind for a moment: records that should be due are not due yet.
type behind struct{ memorySource }

// Acquire implements driver.Source.
func (b behind) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := b.memorySource.Acquire(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return &sessionBehind{sessionOfMemory: s.(sessionOfMemory)}, nil //nolint:forcetypeassert // a test
}

type sessionBehind struct {
	sessionOfMemory

	was bool
}

// Due implements driver.Holder.
func (s *sessionBehind) Due(ctx context.Context, limit int, except []string) ([]driver.Held, error) {
	due, err := s.sessionOfMemory.Due(ctx, limit, except)
	if len(due) == 0 || s.was {
		return due, err
	}
	s.was = true
	return nil, err
}

// TestO2_RunOnceAsksAgain: a record that is due by the relay's clock, but not yet by its store's, is not
// forgotten. SQLite's clock counts whole milliseconds.
func TestO2_RunOnceAsksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.refuse("2", outbox.FailureUnknown)
		l.put("t", "k", "1", "2", "3")
		time.AfterFunc(30*time.Second, func() { l.allow("2") })
		n, err := once(t, behind{l.source()}, l, relay.Config{BackoffMin: time.Minute, BackoffMax: time.Minute}).RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, 3, n)
		require.Equal(t, []string{"1", "2", "3"}, l.sent())
	})
}
