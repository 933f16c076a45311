package outboxtest

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox/driver"
)

func wakeChecks() []Check {
	return []Check{{
		Name: "Wake_ReachesEverySubscriber", run: wakeReachesEverySubscriber,
		skip: func(f Features) bool { return f.NoWakes },
	}}
}

// wakeReachesEverySubscriber also wakes more often than subscribers receive, which must not
// block.
func wakeReachesEverySubscriber(ctx context.Context, tr *trial) {
	src := tr.Source(testGroup)
	ended, cancel := context.WithCancel(ctx)
	subscriptions := []<-chan struct{}{src.Wakes(ctx), src.Wakes(ctx), tr.Source(testGroup).Wakes(ctx), src.Wakes(ended)}
	cancel()
	for round := range 3 {
		tr.commit(ctx, named(fmt.Sprintf("m-%d", round))...)
		for range 100 {
			tr.Wake()
		}
		for i, wakes := range subscriptions[:3] {
			if wakes == nil {
				fail.With("source: Wakes returned nil")
			}
			select {
			case <-wakes:
			case <-ctx.Done():
				fail.With("round %d: subscription %d was not woken: %w", round, i, ctx.Err())
			}
			select { // one may have been pending while the first was taken
			case <-wakes:
			default:
			}
		}
	}
}

// idleSource signals when a relay has read to the end and is about to wait.
type idleSource struct {
	driver.Source

	idle chan struct{} // buffers one signal
}

func newIdleSource(src driver.Source) *idleSource {
	return &idleSource{Source: src, idle: make(chan struct{}, 1)}
}

// await returns after a Read that found nothing.
func (s *idleSource) await(ctx context.Context) error {
	select {
	case <-s.idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Acquire implements driver.Source.
func (s *idleSource) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	session, err := s.Source.Acquire(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return idleSession{Session: session, idle: s.idle}, nil
}

type idleSession struct {
	driver.Session

	idle chan<- struct{}
}

// Read implements driver.Session.
func (s idleSession) Read(ctx context.Context, limit int) (driver.Page, error) {
	p, err := s.Session.Read(ctx, limit)
	if err == nil && len(p.Records) == 0 && !p.Waiting {
		select {
		case s.idle <- struct{}{}:
		default:
		}
	}
	return p, err
}
