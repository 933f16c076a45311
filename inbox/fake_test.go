package inbox_test

import (
	"context"
	"errors"

	"github.com/leat-go/leat/inbox/driver"
)

// fakeStore answers every claim alike, with itself as the unit, and notes what
// happens to it.
type fakeStore struct {
	status      driver.Status
	claimErr    error
	commitErr   error
	rollbackErr error

	commits, rollbacks int
	finishErr          error // of the context that the last of them got
	finishBounded      bool
	claimed            []string
}

var errFake = errors.New("fake")

func (s *fakeStore) Claim(_ context.Context, id string) (driver.Unit, driver.Status, error) {
	s.claimed = append(s.claimed, id)
	if s.status != driver.Claimed || s.claimErr != nil {
		return nil, s.status, s.claimErr
	}
	return s, s.status, nil
}

type fakeKey struct{}

func (s *fakeStore) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, fakeKey{}, "tx")
}

func (s *fakeStore) Commit(ctx context.Context) error {
	s.commits++
	s.finish(ctx)
	return s.commitErr
}

func (s *fakeStore) Rollback(ctx context.Context) error {
	s.rollbacks++
	s.finish(ctx)
	return s.rollbackErr
}

func (s *fakeStore) finish(ctx context.Context) {
	s.finishErr = ctx.Err()
	_, s.finishBounded = ctx.Deadline()
}
