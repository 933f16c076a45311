package redisdedupe_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe/dedupetest"
	"github.com/leat-go/leat/dedupe/redisdedupe"
)

// TestStore_ConformanceInProcess runs the suite on the Redis that users play in
// their own tests. Its time is theirs to pass.
//
//leat:level 0
func TestStore_ConformanceInProcess(t *testing.T) {
	t.Parallel()
	dedupetest.Run(t, func(t *testing.T) dedupetest.Subject {
		t.Helper()
		server := miniredis.RunT(t)
		over, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for last := time.Now(); ; {
				select {
				case <-over:
					return
				case now := <-tick.C:
					// Never by much at once: what was stored meanwhile would age by the rest.
					server.FastForward(min(now.Sub(last), time.Millisecond))
					last = now
				}
			}
		}()
		t.Cleanup(func() { close(over); <-ended })
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { _ = client.Close() })
		s, err := redisdedupe.New(client, redisdedupe.Config{Prefix: "p:"})
		require.NoError(t, err)
		return subject{s, client, "p:"}
	})
}
