package outboxtest

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// idleSource tells when a relay has read to the end and is about to wait.
type idleSource struct {
	driver.Source

	idle chan struct{} // holds one note
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
