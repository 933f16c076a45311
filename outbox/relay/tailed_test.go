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

// followable is a source whose sessions record whether they must follow a tail.
type followable struct {
	*fakeSource
	follows atomic.Bool
}

func (s *followable) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	session, err := s.fakeSource.Acquire(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return followed{session, s}, nil
}

type followed struct {
	driver.Session
	source *followable
}

func (f followed) Follow(on bool)            { f.source.follows.Store(on) }
func (followed) Current(driver.Page) bool    { return true }
func (followed) Withdraw(driver.Page, []int) {}

// TestO7_NoTailInAnOutage: a relay that cannot send a page because of an outage stops following its tail.
// It follows again when the destination is back.
func TestO7_NoTailInAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		sink := &fakeSink{answer: func(ctx context.Context, _ int, records []outbox.Record) []outbox.Result {
			results := acked(ctx, time.Millisecond, records)
			for i := range results {
				if away.Load() {
					results[i] = outbox.Failed(outbox.FailureOutage, errBroker)
				}
			}
			return results
		}}
		log := newFakeLog(5)
		source := &followable{fakeSource: log.source()}
		r, err := relay.New(source, sink, relay.Config{})
		require.NoError(t, err)
		stop := lead(t, r)
		defer stop()
		elapse(t, time.Minute)
		require.Equal(t, 5, log.settled())
		require.True(t, source.follows.Load())

		away.Store(true)
		log.add(1)
		elapse(t, time.Minute)
		require.Equal(t, 5, log.settled())
		require.False(t, source.follows.Load())

		away.Store(false)
		elapse(t, 10*time.Minute)
		require.Equal(t, 6, log.settled())
		require.True(t, source.follows.Load())
	})
}
