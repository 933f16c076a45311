package fullpool_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/fullpool"
	"github.com/leat-go/leat/internal/wait"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// guarded is a log that timers write to. To the race detector, a timer does not run after
// what the test did before it waited.
type guarded struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (g *guarded) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.Write(p)
}

func (g *guarded) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.String()
}

func newPool(taken *atomic.Int64) (*fullpool.Pool, *guarded) {
	var log guarded
	stats := func() (int, int) { return int(taken.Load()), 4 }
	return fullpool.New("MaxConns", stats, slog.New(slog.NewTextHandler(&log, nil))), &log
}

// TestA3_ClaimsDoNotWaitForEver: the end of the wait names the pool's size, and the caller's
// own end and other errors stay what they are.
func TestA3_ClaimsDoNotWaitForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var taken atomic.Int64
		taken.Store(4)
		p, _ := newPool(&taken)
		waits := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		began := time.Now()
		err := p.Take(t.Context(), waits)
		require.Equal(t, p.Wait, time.Since(began))
		require.ErrorContains(t, err, "all 4 of the pool are taken (MaxConns)")
		taken.Store(3)
		err = p.Take(t.Context(), waits)
		require.ErrorContains(t, err, "no connection became free within 30s: context deadline exceeded")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.Equal(t, context.Canceled, p.Take(ctx, waits))
		errOther := errors.New("refused")
		require.Equal(t, errOther, p.Take(t.Context(), func(context.Context) error { return errOther }))
		require.NoError(t, p.Take(t.Context(), func(context.Context) error { return nil }))
	})
}

// TestA3_FullPoolIsNamed: once a minute, of a delivery that is slow while the pool is full.
func TestA3_FullPoolIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var taken atomic.Int64
		taken.Store(3)
		p, log := newPool(&taken)
		after := func(d time.Duration) {
			require.NoError(t, wait.For(t.Context(), d))
			synctest.Wait()
		}
		p.Watch()
		after(p.Long)
		require.Empty(t, log.String(), "a connection is free")
		taken.Store(4)
		stop := p.Watch()
		after(p.Long - 1)
		require.True(t, stop())
		after(p.Long)
		require.Empty(t, log.String(), "the delivery was quick")
		for range 3 {
			p.Watch()
		}
		after(p.Long)
		require.Equal(t, 1, strings.Count(log.String(), "does the handler use the pool"))
		require.Contains(t, log.String(), "connections=4")
		after(time.Minute)
		require.Equal(t, 2, strings.Count(log.String(), "does the handler use the pool"))
		require.Contains(t, log.String(), "repeated=2")
	})
}
