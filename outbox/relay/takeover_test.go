package relay_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// TestO6_NextLeaderKnowsWhatIsHeld: a relay that takes over a lease reads which keys are parked before it
// sends anything.
func TestO6_NextLeaderKnowsWhatIsHeld(t *testing.T) {
	t.Parallel()
	inLab(t, relay.Config{}, func(t *testing.T, l *lab, r *relay.Relay, _ *recorder) {
		l.refuse("k1", outbox.FailurePermanent)
		l.put("t", "k", "k1", "k2")
		stop := lead(t, r)
		elapse(t, time.Second)
		stop()
		require.Equal(t, []string{"k1", "k2"}, l.parked())

		l.put("t", "k", "k3")
		l.put("t", "l", "l1")
		next, err := relay.New(l.source(), l, relay.Config{})
		require.NoError(t, err)
		stop = lead(t, next)
		elapse(t, time.Minute)
		require.Equal(t, []string{"l1"}, l.sent(), "not k3, behind a key that is parked")
		require.Equal(t, []string{"k1", "k2", "k3"}, l.parked())
		stop()
	})
}

// cutSource is a source whose sessions notice when they were cut.
type cutSource struct{ *fakeSource }

func (s cutSource) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	inner, err := s.fakeSource.Acquire(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return cutSession{inner.(*fakeSession)}, nil
}

type cutSession struct{ *fakeSession }

// Lost implements driver.Watched.
func (s cutSession) Lost() error {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if !s.ours() {
		return fmt.Errorf("%w: cut", driver.ErrLeaseLost)
	}
	return nil
}

// Advance ignores the loss of the lease, so that the relay does not learn of it here.
func (s cutSession) Advance(ctx context.Context, p driver.Page, n int) error {
	if s.Lost() == nil {
		return s.fakeSession.Advance(ctx, p, n)
	}
	return nil
}

// cut releases the lease without notifying its holder.
func (l *fakeLog) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holder = nil
}

// TestO9_LooksBeforeEachSend: a relay whose lease was taken away ends the call in flight, and begins no
// other, although its lease has time left.
func TestO9_LooksBeforeEachSend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(10)
		src := log.source()
		sink := &fakeSink{}
		var away atomic.Bool
		src.acquire = func() error {
			if away.Load() {
				return errAway
			}
			return nil
		}
		sink.answer = func(ctx context.Context, n int, records []outbox.Record) []outbox.Result {
			if n == 3 {
				away.Store(true)
				log.cut()
			}
			return acked(ctx, time.Second, records)
		}
		run := start(t, cutSource{src}, sink, leaseConfig())
		elapse(t, 20*time.Second)
		_, err := run.stop()
		require.NoError(t, err)
		require.Len(t, sink.called(), 3)
	})
}

// TestO14_CutTermBeginsAgainAtOnce: a term whose session was cut is followed by another one at once. If
// that one is cut before anything was acknowledged, the next ones wait for at most half a second.
func TestO14_CutTermBeginsAgainAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		src := log.source()
		sink := takesAll(0)
		var away atomic.Bool
		src.read = func(context.Context) error {
			if !away.Load() {
				return nil
			}
			log.cut()
			return errAway
		}
		run := start(t, cutSource{src}, sink, leaseConfig())
		elapse(t, time.Second)
		require.Equal(t, []string{"1"}, sink.sent())
		for n := 2; n < 8; n++ {
			log.cut()
			log.add(1)
			elapse(t, 100*time.Millisecond) // a poll
			require.Len(t, sink.sent(), n, "at once")
		}
		log.cut()
		at := len(src.attempts())
		away.Store(true)
		elapse(t, 10*time.Second)
		tries := src.attempts()[at:]
		require.Greater(t, len(tries), 18)
		require.Less(t, len(tries), 60)
		for i := 1; i < len(tries); i++ {
			require.LessOrEqual(t, tries[i].Sub(tries[i-1]), 501*time.Millisecond)
		}
		_, err := run.stop()
		require.NoError(t, err)
	})
}

// TestO14_StandbyAsksAsOftenAsTheSourceWants: a source that notices dead holders sets how often a standby
// asks for the lease.
func TestO14_StandbyAsksAsOftenAsTheSourceWants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newFakeLog(0).source()
		src.acquire = func() error {
			return &driver.LeaseHeldError{Owner: "another", Remaining: 30 * time.Second, Retry: 400 * time.Millisecond}
		}
		run := start(t, src, takesAll(0), leaseConfig())
		elapse(t, 10*time.Second)
		require.InDelta(t, 29, len(src.attempts()), 5)
		_, err := run.stop()
		require.NoError(t, err)
	})
}
