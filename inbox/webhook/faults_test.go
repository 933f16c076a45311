package webhook_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
)

func bodyOf(body []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }

// faults are what happens to requests on their way, by chance.
type faults struct {
	next  http.Handler
	calls func() // after each

	mu    sync.Mutex
	dice  *rand.Rand
	count map[string]int
}

func (f *faults) roll() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []string{
		"none", "none", "none", "down", "500", "502", "429", "409", "cut before", "cut after", "slow", "twice", "twice at once", "late", "redirect",
	}
	fault := all[f.dice.IntN(len(all))]
	f.count[fault]++
	return fault
}

// ServeHTTP does one of the things that happen to webhooks.
func (f *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer f.calls()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	handle := func(ctx context.Context, w http.ResponseWriter) {
		again := r.Clone(ctx)
		again.Body = bodyOf(body)
		f.next.ServeHTTP(w, again)
	}
	switch fault := f.roll(); fault {
	case "500", "502", "429", "409":
		status, _ := strconv.Atoi(fault)
		w.WriteHeader(status)
	case "redirect":
		http.Redirect(w, r, "/login", http.StatusFound)
	case "down", "cut before":
		cut(w)
	case "cut after": // the answer is lost
		handle(r.Context(), httptest.NewRecorder())
		cut(w)
	case "slow": // the sender goes before there is an answer
		handle(r.Context(), httptest.NewRecorder())
		<-r.Context().Done()
	case "late": // it is worked on although the sender has gone
		<-r.Context().Done()
		handle(context.WithoutCancel(r.Context()), httptest.NewRecorder())
	case "twice":
		handle(r.Context(), httptest.NewRecorder())
		handle(r.Context(), w)
	case "twice at once":
		var other sync.WaitGroup
		other.Go(func() { handle(r.Context(), httptest.NewRecorder()) })
		handle(r.Context(), w)
		other.Wait()
	default:
		handle(r.Context(), w)
	}
}

func cut(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}
