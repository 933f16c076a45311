package dashboard_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// counted counts how often it is asked.
type counted struct {
	admin.Outbox

	stats atomic.Int64
	err   atomic.Pointer[error]
}

func (c *counted) Stats(ctx context.Context) (admin.Stats, error) {
	c.stats.Add(1)
	if err := c.err.Load(); err != nil {
		return admin.Stats{}, *err
	}
	return c.Outbox.Stats(ctx)
}

// Many tabs cost what one does: every two seconds one sample, every ten while nobody looks.
func TestOneSampler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counted{}
		s := newShop(t, func(cfg *dashboard.Config) {
			c.Outbox = cfg.Outboxes["shop"]
			cfg.Outboxes = map[string]admin.Outbox{"shop": c}
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = s.d.Run(ctx) }()
		require.NoError(t, wait.For(t.Context(), 61*time.Second))
		require.EqualValues(t, 7, c.stats.Load())
		require.Error(t, s.d.Run(ctx), "it runs once")

		watching, leave := context.WithCancel(ctx)
		bodies := make([]*httptest.ResponseRecorder, 20)
		for i := range bodies {
			bodies[i] = httptest.NewRecorder()
			r := httptest.NewRequestWithContext(watching, http.MethodGet, "http://localhost/api/v1/stream", nil)
			go s.d.ServeHTTP(bodies[i], r)
		}
		require.NoError(t, wait.For(t.Context(), 59*time.Second))
		leave()
		synctest.Wait()
		require.InDelta(t, 37, c.stats.Load(), 3)
		for _, b := range bodies {
			require.InDelta(t, 30, strings.Count(b.Body.String(), "event: sample\n"), 1)
		}
		cancel()
		synctest.Wait()
	})
}

// What is enqueued and what each group settles in a second is shown, now and of the last half hour.
func TestRates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		rates := func() (enqueued, settled float64) {
			t.Helper()
			var status struct {
				Outboxes []struct {
					Rate   float64 `json:"enqueued_per_second"`
					Groups []struct {
						Settled float64 `json:"settled_per_second"`
					}
				}
			}
			require.NoError(t, json.Unmarshal(s.get("/api/v1/status").Body.Bytes(), &status))
			require.Len(t, status.Outboxes[0].Groups, 2)
			require.Zero(t, status.Outboxes[0].Groups[1].Settled, "nobody relays for mail")
			return status.Outboxes[0].Rate, status.Outboxes[0].Groups[0].Settled
		}
		enqueued, settled := rates()
		require.Zero(t, enqueued+settled, "nothing is known of the time before")
		for i := range 20 {
			s.enqueue(outbox.Message{Topic: "t"}, outbox.Message{Topic: "t"})
			if i < 10 {
				s.relayParked()
			}
			require.NoError(t, wait.For(t.Context(), time.Second))
		}
		enqueued, settled = rates()
		require.InDelta(t, 2, enqueued, 0.05)
		require.InDelta(t, 1, settled, 0.05, "for half of the time")
		page := s.get("/").Body.String()
		require.Contains(t, page, `data-l="Settled /s">1</td>`)
		require.Len(t, regexp.MustCompile(`<svg class="spark[^>]+aria-label="Backlog of the last 30 minutes: between 0 and \d+"><polygon`).FindAllString(page, -1), 2, "a line for each group")
		var history struct {
			At     []int64
			Groups []struct {
				Settled []*float64 `json:"settled_per_second"`
			}
		}
		require.NoError(t, json.Unmarshal(s.get("/api/v1/history").Body.Bytes(), &history))
		require.Len(t, history.Groups[0].Settled, len(history.At))
		require.InDelta(t, 1, *history.Groups[0].Settled[len(history.At)-1], 0.05)
	})
}

// A store that is unavailable is shown with its last figures and an alarm, and its error stays in the log.
func TestStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counted{}
		s := newShop(t, func(cfg *dashboard.Config) {
			c.Outbox = cfg.Outboxes["shop"]
			cfg.Outboxes = map[string]admin.Outbox{"shop": c}
		})
		require.Contains(t, s.get("/api/v1/status").Body.String(), `"parked":3`)
		err := context.DeadlineExceeded
		c.err.Store(&err)
		require.NoError(t, wait.For(t.Context(), 3*time.Second))
		answer := s.get("/api/v1/status").Body.String()
		require.Contains(t, answer, `"failed":true`)
		require.Contains(t, answer, `"parked":3`)
		require.Contains(t, answer, "does not answer")
		require.NotContains(t, answer, "deadline")
	})
}

// A stream ends with its request, on a real server.
func TestStream(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	server := httptest.NewServer(s.d)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/v1/stream", nil)
	require.NoError(t, err)
	answer, err := server.Client().Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "event: sample\n", line)
	cancel()
}
