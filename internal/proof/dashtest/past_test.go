package dashtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// history is the answer of api/v1/history.
type history struct {
	Outbox string      `json:"outbox"`
	At     []int64     `json:"at"`
	Rate   []float64   `json:"enqueued_per_second"`
	Groups []*ofAGroup `json:"groups"`
}

type ofAGroup struct {
	Name    string     `json:"name"`
	Lag     []*float64 `json:"lag_seconds"`
	Backlog []*int64   `json:"backlog"`
	Settled []*float64 `json:"settled_per_second"`
}

// halfHour returns a dashboard's history of half an hour of virtual time: for four minutes the destination
// of the default group is down, and for the last nine no relay runs for analytics.
func halfHour(t *testing.T) (past history) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ob, err := memoutbox.New(memoutbox.Config{})
		require.NoError(t, err)
		began := time.Now()
		minute := func() int { return int(time.Since(began).Minutes()) }
		d, err := dashboard.New(dashboard.Config{
			Outboxes: map[string]admin.Outbox{"shop": ob.Admin()}, Base: "/ops/leat/", Logger: slog.New(slog.DiscardHandler),
			Authorize: func(*http.Request) (dashboard.Identity, error) {
				return dashboard.Identity{Actor: "ann", Roles: dashboard.Roles()}, nil
			},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = d.Run(ctx) })
		for _, group := range []string{"analytics", "default", "mail"} {
			until, stop := context.WithCancel(ctx)
			defer stop()
			if group == "analytics" {
				time.AfterFunc(21*time.Minute, stop)
			}
			sink, err := relay.Func(func(ctx context.Context, _ outbox.Record) error {
				if m := minute(); group == "default" && m >= 11 && m < 15 {
					return outbox.Failed(outbox.FailureOutage, errors.New("no broker answers")).Err
				}
				return wait.For(ctx, 40*time.Millisecond)
			}, relay.FuncConfig{})
			require.NoError(t, err)
			r, err := relay.New(ob.Source(memoutbox.SourceConfig{Group: group}), sink, relay.Config{Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			all.Go(func() { _ = r.Run(until) })
		}
		for i := 0; minute() < 30; i++ {
			messages := make([]outbox.Message, 2+i%3+i/60%3)
			for j := range messages {
				messages[j] = outbox.Message{Topic: "orders"}
			}
			require.NoError(t, ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error { return ob.Enqueue(ctx, tx, messages...) }))
			require.NoError(t, wait.For(ctx, 3*time.Second))
		}
		past = historyOf(t, d)
		cancel()
		all.Wait()
	})
	return past
}

// historyOf requests a dashboard's history.
func historyOf(t *testing.T, d http.Handler) (h history) {
	t.Helper()
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/ops/leat/api/v1/history?outbox=shop", nil))
	dec := json.NewDecoder(w.Body)
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&h))
	return h
}

// before makes a dashboard that has just started show the earlier half hour, too.
func (h history) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/api/v1/history") {
			next.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		var since history
		if err := json.Unmarshal(answer.Body.Bytes(), &since); err != nil || len(since.At) == 0 || len(h.At) == 0 {
			http.Error(w, "no history", http.StatusInternalServerError)
			return
		}
		later := since.At[0] - h.At[len(h.At)-1]
		all := history{Outbox: since.Outbox, Rate: slices.Concat(h.Rate, since.Rate[1:])} // its first sample knows no rates
		for _, at := range h.At {
			all.At = append(all.At, at+later)
		}
		all.At = append(all.At, since.At[1:]...)
		for _, g := range since.Groups {
			for _, p := range h.Groups {
				if p.Name == g.Name {
					all.Groups = append(all.Groups, &ofAGroup{
						g.Name, slices.Concat(p.Lag, g.Lag[1:]), slices.Concat(p.Backlog, g.Backlog[1:]), slices.Concat(p.Settled, g.Settled[1:]),
					})
				}
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(all)
	})
}
