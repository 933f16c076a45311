package pgdedupe_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// TestA3_HandlersOnThePool: handlers that use the pool instead of their transaction wait for
// each other until the pool has another connection.
func TestA3_HandlersOnThePool(t *testing.T) {
	t.Parallel()
	const size = 4
	cfg := testenv.Postgres(t).Pool.Config()
	cfg.MaxConns = size
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s := openShop(t, pool)
	s.store.Impatient(300 * time.Millisecond)
	var full sync.WaitGroup
	full.Add(size)
	first := make(chan struct{}, size)
	for range size {
		first <- struct{}{}
	}
	url := s.serve(t, s.store, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-first: // until the pool has no connection left
			full.Done()
			full.Wait()
		default:
		}
		if _, err := pool.Exec(r.Context(), `SELECT 1`); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		s.ServeHTTP(w, r)
	}))
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			status, body, err := post(t.Context(), url, fmt.Sprint("key-", n), "tea")
			if err != nil || status != http.StatusCreated {
				t.Error(status, body, err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 16, s.effects(t))
	require.LessOrEqual(t, pool.Stat().TotalConns(), int32(size))
}
