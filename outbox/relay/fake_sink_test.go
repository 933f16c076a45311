package relay_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

var errBroker = errors.New("broker says no")

// call is one call of a sink.
type call struct {
	began, ended time.Time
	deadline     time.Time
	ids          []string
}

// fakeSink gives the answers that a test sets, and records its calls.
type fakeSink struct {
	answer func(ctx context.Context, n int, records []outbox.Record) []outbox.Result // of call n, from 1

	mu    sync.Mutex
	calls []call
}

// takesAll acknowledges everything after a while.
func takesAll(after time.Duration) *fakeSink {
	return &fakeSink{answer: func(ctx context.Context, _ int, records []outbox.Record) []outbox.Result {
		return acked(ctx, after, records)
	}}
}

// acked acknowledges records after a while, or fails all of them if ctx ends before.
func acked(ctx context.Context, after time.Duration, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	if err := wait.For(ctx, after); err != nil {
		for i := range results {
			results[i] = outbox.Failed(outbox.FailureOutage, err)
		}
	}
	return results
}

func (s *fakeSink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	c := call{began: time.Now()}
	c.deadline, _ = ctx.Deadline()
	for i := range records {
		c.ids = append(c.ids, records[i].ID)
	}
	s.mu.Lock()
	n := len(s.calls) + 1
	s.calls = append(s.calls, c)
	s.mu.Unlock()
	results := s.answer(ctx, n, records)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[n-1].ended = time.Now()
	return results
}

func (s *fakeSink) called() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]call(nil), s.calls...)
}

// sent returns the ids of all calls.
func (s *fakeSink) sent() []string {
	var ids []string
	for _, c := range s.called() {
		ids = append(ids, c.ids...)
	}
	return ids
}
