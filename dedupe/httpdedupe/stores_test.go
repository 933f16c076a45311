package httpdedupe_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/httpdedupe"
	"github.com/leat-go/leat/dedupe/pgdedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
	"github.com/leat-go/leat/internal/testenv"
)

// TestOnEveryStore: many requests with one key at the same time run once, and all
// get the same bytes.
func TestOnEveryStore(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) dedupe.Store{
		"memory": func(t *testing.T) dedupe.Store { t.Helper(); return newFaulty(t) },
		"redis": func(t *testing.T) dedupe.Store {
			t.Helper()
			env := testenv.Redis(t)
			client := redis.NewClient(&redis.Options{Addr: env.Addr})
			t.Cleanup(func() { require.NoError(t, client.Close()) })
			store, err := redisdedupe.New(client, redisdedupe.Config{Prefix: env.Prefix})
			require.NoError(t, err)
			return store
		},
		"postgres": func(t *testing.T) dedupe.Store {
			t.Helper()
			store, err := pgdedupe.New(testenv.Postgres(t).Pool, pgdedupe.Config{})
			require.NoError(t, err)
			require.NoError(t, store.Migrate(t.Context()))
			return store
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const body = "binary \x00\n\xff\r\n{} "
			m, err := httpdedupe.New(newProcessor(t, open(t), dedupe.Config{}), tenant, httpdedupe.Config{})
			require.NoError(t, err)
			var runs atomic.Int32
			url := listen(t, m(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				runs.Add(1)
				w.Header().Set("Content-Type", "application/octet-stream")
				_, _ = w.Write([]byte(body))
			})))
			const clients = 8
			answers, errs := make([]answer, clients), make([]error, clients)
			var wg sync.WaitGroup
			for i := range clients {
				wg.Go(func() {
					for answers[i].Response == nil || answers[i].StatusCode == http.StatusConflict {
						if answers[i], errs[i] = trySend(t.Context(), url, "key:1", "request"); errs[i] != nil {
							return
						}
					}
				})
			}
			wg.Wait()
			for i := range clients {
				require.NoError(t, errs[i])
				require.Equal(t, http.StatusOK, answers[i].StatusCode)
				require.Equal(t, body, answers[i].body)
				require.Equal(t, "application/octet-stream", answers[i].Header.Get("Content-Type"))
			}
			require.EqualValues(t, 1, runs.Load())
		})
	}
}
