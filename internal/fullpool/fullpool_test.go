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
	size := func() fullpool.Size { return fullpool.Size{Taken: int(taken.Load()), Most: 4} }
	return fullpool.New("MaxConns", size, func() int { return 4 }, slog.New(slog.NewTextHandler(&log, nil))), &log
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
		var w fullpool.Watch
		p.Watch(&w, nil)
		after(p.Long)
		require.Empty(t, log.String(), "a connection is free")
		end(t, &w)
		taken.Store(4)
		var quick fullpool.Watch
		p.Watch(&quick, nil)
		after(p.Long - 1)
		end(t, &quick)
		after(p.Long)
		require.Empty(t, log.String(), "the delivery was quick")
		var slow [3]fullpool.Watch
		for i := range slow {
			p.Watch(&slow[i], nil)
		}
		after(p.Long)
		require.Equal(t, 1, strings.Count(log.String(), "does it use the pool"))
		require.Contains(t, log.String(), "connections=4")
		for i := range slow {
			end(t, &slow[i])
		}
		after(time.Minute)
		require.Equal(t, 2, strings.Count(log.String(), "does it use the pool"))
		require.Contains(t, log.String(), "repeated=2")
	})
}

func end(t *testing.T, w *fullpool.Watch) {
	t.Helper()
	require.NoError(t, w.End(func() error { return nil }))
}

// grower counts how often a pool grows.
type grower struct{ times atomic.Int64 }

func (g *grower) Grow() bool {
	g.times.Add(1)
	return true
}

// TestA3_LastConnectionIsLeft: once a delivery was slow on a full pool. Claims come in their
// order, do not wait for ever for a delivery that does not end, and leave the queue with their
// context.
func TestA3_LastConnectionIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var taken atomic.Int64
		p, _ := newPool(&taken)
		p.Wait = time.Hour
		var grown grower
		var admitted []int
		claim := func(n int) *fullpool.Watch {
			require.NoError(t, p.Take(t.Context(), func(context.Context) error {
				admitted = append(admitted, n)
				taken.Add(1)
				return nil
			}))
			var w fullpool.Watch
			p.Watch(&w, &grown)
			return &w
		}
		leave := func(w *fullpool.Watch) {
			require.NoError(t, w.End(func() error {
				taken.Add(-1)
				return nil
			}))
			synctest.Wait()
		}
		watches := make([]*fullpool.Watch, 8)
		for n := range 4 {
			watches[n] = claim(n)
		}
		require.Len(t, admitted, 4, "no claim waits without a reason")
		for n := 4; n < 7; n++ {
			go func() { watches[n] = claim(n) }()
			synctest.Wait()
		}
		require.NoError(t, wait.For(t.Context(), p.Long))
		synctest.Wait()
		require.EqualValues(t, 1, grown.times.Load(), "one connection more is enough")
		require.Len(t, admitted, 4)
		leave(watches[0])
		require.Len(t, admitted, 4, "the last connection is left")
		leave(watches[1])
		require.Equal(t, 4, admitted[4])
		require.Len(t, admitted, 5)

		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() { gone <- p.Take(ctx, func(context.Context) error { return nil }) }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-gone, context.Canceled)

		began := time.Now()
		require.NoError(t, wait.For(t.Context(), p.Room))
		synctest.Wait()
		require.Equal(t, p.Room, time.Since(began))
		require.Len(t, admitted, 6, "nothing has ended: the claim goes on")
		require.NoError(t, wait.For(t.Context(), 3*p.Room))
		synctest.Wait()
		require.Len(t, admitted, 6, "there is no connection")
		for _, n := range []int{2, 3} {
			leave(watches[n])
		}
		require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6}, admitted)
		for _, n := range []int{4, 5, 6} {
			leave(watches[n])
		}
		for n := range 3 {
			watches[n] = claim(n)
		}
		go func() { watches[3] = claim(3) }()
		synctest.Wait()
		require.Len(t, admitted, 10, "it lasts")
		leave(watches[0])
		for _, n := range []int{1, 2, 3} {
			leave(watches[n])
		}
		require.Zero(t, taken.Load())
	})
}
