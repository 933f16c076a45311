package relay_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// slowAnswer is a source that takes the lease at once, but answers some time later.
type slowAnswer struct {
	*fakeSource

	takes time.Duration
}

func (s slowAnswer) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	session, err := s.fakeSource.Acquire(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return session, wait.For(ctx, s.takes)
}

// TestStopWhileTheLeaseIsClaimed_O13 stops a relay while its claim is in flight: after the stop the lease
// is free.
func TestStopWhileTheLeaseIsClaimed_O13(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(0)
		run := start(t, slowAnswer{fakeSource: log.source(), takes: 2 * time.Second}, takesAll(0), relay.Config{})
		elapse(t, time.Second)
		took, err := run.stop()
		require.NoError(t, err)
		require.Equal(t, time.Second, took)
		clean(t, log)
	})
}

// TestStopWhileAClaimHangs_O13 stops a relay while its source does not answer: the stop waits no longer
// than it may.
func TestStopWhileAClaimHangs_O13(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run := start(t, slowAnswer{fakeSource: newFakeLog(0).source(), takes: time.Hour}, takesAll(0), relay.Config{})
		elapse(t, time.Second)
		took, err := run.stop()
		require.NoError(t, err)
		require.LessOrEqual(t, took, 2500*time.Millisecond)
	})
}

// somewhere is a source that reports its place.
type somewhere struct {
	*fakeSource

	place atomic.Pointer[driver.Place]
}

func (s *somewhere) Place(context.Context) (driver.Place, error) { return *s.place.Load(), nil }

// TestO2_UnexpectedPlaceIsRefused: an unexpected place is refused at the start and before each term, since
// an address can begin to lead to a copy.
func TestO2_UnexpectedPlaceIsRefused(t *testing.T) {
	t.Parallel()
	here := driver.Place{Host: "db-1", Database: "shop", Instance: "7"}
	for name, c := range map[string]struct {
		want, is driver.Place
		refused  string
	}{
		"all":            {here, here, ""},
		"nothing":        {driver.Place{}, here, ""},
		"host alone":     {driver.Place{Host: "db-1"}, driver.Place{Host: "db-1", Database: "x"}, ""},
		"other host":     {here, driver.Place{Host: "db-2", Database: "shop", Instance: "7"}, `host was "db-1" and is "db-2"`},
		"other database": {here, driver.Place{Host: "db-1", Database: "staging", Instance: "7"}, `database was "shop" and is "staging"`},
		"other instance": {here, driver.Place{Host: "db-1", Database: "shop", Instance: "8"}, `instance was "7" and is "8"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for _, begins := range []bool{true, false} {
					log := newFakeLog(3)
					src := &somewhere{fakeSource: log.source()}
					src.place.Store(&c.is)
					if begins {
						src.place.Store(&here)
					}
					src.failRead(3, time.Second)
					run := start(t, src, takesAll(0), relay.Config{Expect: c.want})
					elapse(t, 500*time.Millisecond)
					src.place.Store(&c.is)
					elapse(t, time.Minute)
					if c.refused == "" {
						require.Greater(t, len(src.attempts()), 1, "a second term")
						_, err := run.stop()
						require.NoError(t, err)
						continue
					}
					_, err := run.stop() // which has ended by itself
					require.ErrorIs(t, err, driver.ErrSourceUnusable)
					require.ErrorIs(t, err, basis.ErrUnexpected)
					require.ErrorContains(t, err, c.refused)
					if begins {
						require.Len(t, src.attempts(), 1)
					} else {
						require.Empty(t, src.attempts())
					}
				}
			})
		})
	}
	_, err := relay.New(newFakeLog(0).source(), takesAll(0), relay.Config{Expect: here})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "Expect")
}
