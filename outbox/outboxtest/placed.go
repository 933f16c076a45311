package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/leat-go/leat/outbox/driver"
)

var errNoPositioned = errors.New("the session is no driver.Positioned; say Features.NoPositions")

// placed is a session whose position a sink keeps.
type placed struct {
	driver.Positioned

	reader *reader
}

func asPlaced(r *reader) (*placed, error) {
	p, ok := r.Session.(driver.Positioned)
	if !ok {
		return nil, errNoPositioned
	}
	return &placed{p, r}, nil
}

// placed starts a session of testGroup.
func (tr *trial) placed(ctx context.Context) (*placed, error) {
	r, err := tr.acquireGroup(ctx, GroupConfig{Positions: true})
	if err != nil {
		return nil, err
	}
	return asPlaced(r)
}

// crashed lets the lease of old run out and starts a session in its place.
func (tr *trial) crashed(ctx context.Context, old *placed) (*placed, error) {
	src, err := tr.group(GroupConfig{Positions: true})
	if err != nil {
		return nil, err
	}
	r, err := takeOverFrom(ctx, src, old.reader)
	if err != nil {
		return nil, err
	}
	return asPlaced(r)
}

// released gives the lease of old up and starts a session in its place.
func (tr *trial) released(ctx context.Context, old *placed) (*placed, error) {
	if err := old.reader.Release(ctx); err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	return tr.placed(ctx)
}

// at returns the position behind the first n records of p.
func (s *placed) at(p driver.Page, n int) ([]byte, error) {
	position, err := s.Position(p, n)
	switch {
	case err != nil:
		return nil, fmt.Errorf("position at %d of %d: %w", n, len(p.Records), err)
	case position == nil:
		return nil, errors.New("position: nil, which is what a sink has that was never given one")
	}
	return slices.Clone(position), nil
}

// seek moves the session to position, twice.
func (s *placed) seek(ctx context.Context, position []byte) error {
	for range 2 {
		if err := s.Seek(ctx, position); err != nil {
			return fmt.Errorf("seek: %w", err)
		}
	}
	return nil
}
