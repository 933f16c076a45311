package httpsink_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/httpsink"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// world is an outbox whose relay sends to endpoints in virtual time: topic a is at
// https://a.example.com.
type world struct {
	t      *testing.T
	outbox *memoutbox.Outbox
	sink   httpsink.Config
	relay  relay.Config

	mu     sync.Mutex
	answer func(host, id string) (*http.Response, error)
	taken  []string // what was answered with 200
	calls  int
}

// inWorld runs test in virtual time.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ob, err := memoutbox.New(memoutbox.Config{})
		require.NoError(t, err)
		test(t, &world{t: t, outbox: ob})
	})
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	host, _, _ := strings.Cut(r.URL.Host, ".")
	id := r.Header.Get("Webhook-Id")
	answer, err := w.answer(host, id)
	if err == nil && answer.StatusCode == http.StatusOK {
		w.taken = append(w.taken, id)
	}
	return answer, err
}

// Endpoint implements httpsink.Endpoints. Topic "missing" has none.
func (w *world) Endpoint(_ context.Context, name string) (httpsink.Endpoint, error) {
	if name == "missing" {
		return httpsink.Endpoint{}, httpsink.ErrNoEndpoint
	}
	return at("https://" + name + ".example.com/"), nil
}

// put enqueues a message of n keys, called topic-0 and so on.
func (w *world) put(topic string, n int) {
	w.t.Helper()
	w.more(topic, 0, n)
}

// lead runs a relay for so long.
func (w *world) lead(d time.Duration) {
	w.t.Helper()
	w.sink.Wrap = func(http.RoundTripper) http.RoundTripper { return w }
	w.sink.Logger, w.relay.Logger = slog.New(slog.DiscardHandler), slog.New(slog.DiscardHandler)
	s, err := httpsink.New(w, w.sink)
	require.NoError(w.t, err)
	r, err := relay.New(w.outbox.Source(memoutbox.SourceConfig{}), s, w.relay)
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	require.NoError(w.t, wait.For(ctx, d))
	cancel()
	require.NoError(w.t, <-ended)
}

// parked returns the ids of the records that were given up.
func (w *world) parked() []string {
	w.t.Helper()
	held, err := w.outbox.Admin().Held(w.t.Context(), admin.HeldQuery{State: admin.HeldParked, Limit: 1000})
	require.NoError(w.t, err)
	var ids []string
	for i := range held {
		ids = append(ids, held[i].ID)
	}
	return ids
}

func ok() (*http.Response, error) { return answered(200, nil), nil }

// TestO8_OutageOfOneEndpoint: whatever it answers, and however long, nothing of it is
// parked, the others go on, and all of it arrives when it is back.
func TestO8_OutageOfOneEndpoint(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]func() (*http.Response, error){
		"refused":     func() (*http.Response, error) { return nil, errors.New("connection refused") },
		"500":         func() (*http.Response, error) { return answered(500, nil), nil },
		"404":         func() (*http.Response, error) { return answered(404, nil), nil },
		"retry after": func() (*http.Response, error) { return answered(503, http.Header{"Retry-After": {"600"}}), nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				refused := 0
				w.answer = func(host, _ string) (*http.Response, error) {
					if host == "a" {
						refused++
						return broken()
					}
					return ok()
				}
				w.put("a", 20)
				w.put("missing", 20)
				w.put("b", 20)
				w.lead(time.Hour)
				require.Empty(t, w.parked())
				require.Len(t, w.taken, 20)
				if name == "retry after" {
					require.LessOrEqual(t, refused, 6+8, "it is asked once in ten minutes, after the eight that were under way")
				}
				w.answer = func(string, string) (*http.Response, error) { return ok() }
				w.lead(time.Minute)
				require.Len(t, w.taken, 40)
			})
		})
	}
}

// TestO7_BehindADeadEndpoint: a relay that starts with pages of nothing but a dead
// endpoint comes to the records of others behind them.
func TestO7_BehindADeadEndpoint(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.answer = func(host, _ string) (*http.Response, error) {
			if host == "dead" {
				return nil, errors.New("connection refused")
			}
			return ok()
		}
		w.relay.PageSize = 10
		w.put("dead", 100)
		w.put("live", 3)
		w.lead(30 * time.Minute)
		require.ElementsMatch(t, []string{"live-0", "live-1", "live-2"}, w.taken)
		require.Empty(t, w.parked())
	})
}

// TestPoison: a record that its endpoint always answers with 500 holds the endpoint up, as
// DefaultClassify says; with a Classify that calls 500 unknown it is parked alone.
func TestPoison(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"default": false, "own classify": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				w.answer = func(_, id string) (*http.Response, error) {
					if id == "a-0" {
						return answered(500, nil), nil
					}
					return ok()
				}
				if own {
					w.sink.Classify = func(status int) outbox.FailureKind {
						if status == http.StatusInternalServerError {
							return outbox.FailureUnknown
						}
						return httpsink.DefaultClassify(status)
					}
				}
				w.put("a", 1)
				w.lead(time.Minute)
				w.more("a", 1, 30)
				w.lead(time.Minute)
				if own {
					require.Equal(t, []string{"a-0"}, w.parked())
					require.Len(t, w.taken, 29)
				} else {
					require.Empty(t, w.parked())
					require.Empty(t, w.taken)
				}
			})
		})
	}
}

// more enqueues the messages first to last-1.
func (w *world) more(topic string, first, last int) {
	w.t.Helper()
	require.NoError(w.t, w.outbox.InTx(w.t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
		for i := first; i < last; i++ {
			id := fmt.Sprintf("%s-%d", topic, i)
			if err := w.outbox.Enqueue(ctx, tx, outbox.Message{ID: id, Topic: topic, Key: id}); err != nil {
				return err
			}
		}
		return nil
	}))
}

// TestGone_DeadLetters: what is for an endpoint that has gone is given up as the policy
// says, after one request.
func TestGone_DeadLetters(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.answer = func(host, _ string) (*http.Response, error) {
			if host == "gone" {
				return answered(http.StatusGone, nil), nil
			}
			return ok()
		}
		w.relay.Policies = []relay.Policy{{Topics: "gone", Action: relay.DeadLetter}}
		w.put("gone", 1)
		w.lead(time.Minute)
		require.Equal(t, 1, w.calls)
		w.more("gone", 1, 50)
		w.put("b", 3)
		w.lead(time.Minute) // another sink, which has to learn it again
		require.LessOrEqual(t, w.calls, 1+8+3)
		require.Len(t, w.taken, 3)
		dead, err := w.outbox.Admin().Dead(t.Context(), admin.HeldQuery{Limit: 1000})
		require.NoError(t, err)
		require.Len(t, dead, 50)
		require.Empty(t, w.parked())
	})
}
