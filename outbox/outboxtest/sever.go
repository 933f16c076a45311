package outboxtest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// errSevered is what a severed source answers.
var errSevered = errors.New("leat: connection is cut")

// severable is a Source that can be cut off from its database, as a process is
// that was killed: whatever its sessions have in memory is never stored, and
// their lease is not released but runs out.
type severable struct {
	driver.Source

	cut atomic.Bool
}

func (s *severable) sever() {
	s.cut.Store(true)
}

// Acquire implements driver.Source.
func (s *severable) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	if s.cut.Load() {
		return nil, errSevered
	}
	session, err := s.Source.Acquire(ctx, ttl)
	if err != nil {
		return nil, err
	}
	severed := &severedSession{Session: session, cut: &s.cut}
	if p, ok := session.(driver.Positioned); ok {
		return &severedPositioned{severedSession: severed, positioned: p}, nil
	}
	return severed, nil
}

type severedSession struct {
	driver.Session

	cut *atomic.Bool
}

// Read implements driver.Session.
func (s *severedSession) Read(ctx context.Context, limit int) (driver.Page, error) {
	if s.cut.Load() {
		return driver.Page{}, errSevered
	}
	return s.Session.Read(ctx, limit)
}

// Advance implements driver.Session.
func (s *severedSession) Advance(ctx context.Context, p driver.Page, n int) error {
	if s.cut.Load() {
		return errSevered
	}
	return s.Session.Advance(ctx, p, n)
}

// Renew implements driver.Session.
func (s *severedSession) Renew(ctx context.Context, ttl time.Duration) error {
	if s.cut.Load() {
		return errSevered
	}
	return s.Session.Renew(ctx, ttl)
}

// Release implements driver.Session.
func (s *severedSession) Release(ctx context.Context) error {
	if s.cut.Load() {
		return errSevered
	}
	return s.Session.Release(ctx)
}

// severedPositioned is a severedSession whose position a sink can keep.
type severedPositioned struct {
	*severedSession

	positioned driver.Positioned
}

// SlotName implements driver.Positioned.
func (s *severedPositioned) SlotName() string {
	return s.positioned.SlotName()
}

// Position implements driver.Positioned.
func (s *severedPositioned) Position(p driver.Page, n int) ([]byte, error) {
	return s.positioned.Position(p, n)
}

// Seek implements driver.Positioned.
func (s *severedPositioned) Seek(ctx context.Context, position []byte) error {
	if s.cut.Load() {
		return errSevered
	}
	return s.positioned.Seek(ctx, position)
}
