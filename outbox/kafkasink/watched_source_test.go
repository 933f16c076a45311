package kafkasink_test

import (
	"context"
	"sync"
	"time"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// settledSet notes what relays have settled.
type settledSet struct {
	mu   sync.Mutex
	seqs map[int64]struct{}
}

func (s *settledSet) note(p driver.Page, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range p.Records[:n] {
		s.seqs[p.Records[i].Seq] = struct{}{}
	}
}

func (s *settledSet) count() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.seqs))
}

// watchedSource is a Source whose relays are watched.
type watchedSource struct {
	driver.Source

	settled *settledSet
}

func (s *watchedSource) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	session, err := s.Source.Acquire(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return &watchedSession{Positioned: session.(driver.Positioned), settled: s.settled}, nil //nolint:forcetypeassert // memoutbox is
}

type watchedSession struct {
	driver.Positioned

	settled *settledSet
}

func (s *watchedSession) Advance(ctx context.Context, p driver.Page, n int) error {
	err := s.Positioned.Advance(ctx, p, n)
	if err == nil {
		s.settled.note(p, n)
	}
	return err
}

// errorsSeen counts the errors that a relay survives, by operation.
type errorsSeen struct {
	mu sync.Mutex
	of map[string]int
}

func (e *errorsSeen) OnRelayError(_ context.Context, event relay.ErrorEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of == nil {
		e.of = map[string]int{}
	}
	e.of[event.Operation]++
}

func (e *errorsSeen) count(operation string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.of[operation]
}
