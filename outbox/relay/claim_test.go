package relay_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// slowAnswer is a source whose lease is taken some time before it says so.
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

// TestStopWhileTheLeaseIsClaimed_O13 stops a relay whose claim is on its way: the lease
// is free when it has stopped.
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

// TestStopWhileAClaimHangs_O13 does not wait longer for a source that does not answer
// than a stop may take.
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
