package pgoutbox_test

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

var errSevered = errors.New("connection is cut")

// severable is a source that can be cut off from its database, like a process that was killed: its
// sessions store nothing more, and their lease is not released but runs out.
type severable struct {
	driver.Source

	cut atomic.Bool
}

func (s *severable) sever() { s.cut.Store(true) }

func (s *severable) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	if s.cut.Load() {
		return nil, errSevered
	}
	session, err := s.Source.Acquire(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return &severed{session, &s.cut}, nil
}

type severed struct {
	driver.Session

	cut *atomic.Bool
}

func (s *severed) Read(ctx context.Context, limit int) (driver.Page, error) {
	if s.cut.Load() {
		return driver.Page{}, errSevered
	}
	return s.Session.Read(ctx, limit)
}

func (s *severed) Advance(ctx context.Context, p driver.Page, n int) error {
	if s.cut.Load() {
		return errSevered
	}
	return s.Session.Advance(ctx, p, n)
}

func (s *severed) Renew(ctx context.Context, ttl time.Duration) error {
	if s.cut.Load() {
		return errSevered
	}
	return s.Session.Renew(ctx, ttl)
}

func (s *severed) Release(ctx context.Context) error {
	if s.cut.Load() {
		return errSevered
	}
	return s.Session.Release(ctx)
}
