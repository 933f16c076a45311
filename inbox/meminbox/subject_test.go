package meminbox

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/outbox"
)

func TestInbox(t *testing.T) {
	t.Parallel()
	inboxtest.Run(t, remembering(), func(*testing.T) inboxtest.Subject { return &subject{} })
}

// remembering is what a subject has: it forgets nothing, and has a lock an id.
func remembering() inboxtest.Features {
	return inboxtest.Features{NoForget: true, NoSharedLocks: true}
}

// subject keeps effects and messages in lists that transactions append to.
type subject struct {
	store Store

	mu       sync.Mutex
	effects  []string
	enqueued []string
	breaking []bool // commits to break, and whether they take effect
}

func TestFailures(t *testing.T) {
	t.Parallel()
	inboxtest.RunFailures(t, inboxtest.Features{}, func(*testing.T) inboxtest.FailureSubject { return &subject{} })
}

func (s *subject) Admin() (admin.Inbox, error) {
	return NewAdmin(&s.store), nil
}

func (s *subject) Open(consumer string, cfg inbox.Config) (inbox.Runner, error) {
	return inbox.New(&breakingStore{claims: claims{store: &s.store, consumer: consumer}, subject: s}, consumer, cfg)
}

func (s *subject) Marker() (driver.Marker, error) { return &s.store, nil }

func (s *subject) Write(ctx context.Context, effect string) error {
	return s.onCommit(ctx, func() { s.effects = append(s.effects, effect) })
}

func (s *subject) onCommit(ctx context.Context, f func()) error {
	if !OnCommit(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		f()
	}) {
		return outbox.ErrNotInTransaction
	}
	return nil
}

func (s *subject) Effects(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.effects), nil
}

func (s *subject) Recorded(_ context.Context, consumer, id string) (bool, error) {
	return s.store.Recorded(consumer, id), nil
}

func (s *subject) Outbox() outbox.Enqueuer { return enqueuer{s} }

func (s *subject) Enqueued(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.enqueued), nil
}

func (s *subject) BreakCommit(applied bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breaking = append(s.breaking, applied)
}

type enqueuer struct{ *subject }

func (e enqueuer) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	return e.onCommit(ctx, func() {
		for _, m := range msgs {
			e.enqueued = append(e.enqueued, m.ID)
		}
	})
}

func (enqueuer) Wake() {}

// breakingStore breaks commits on command.
type breakingStore struct {
	claims

	subject *subject
}

func (s *breakingStore) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	u, status, err := s.claims.Claim(ctx, id)
	if u == nil {
		return nil, status, err
	}
	return &breakingUnit{Unit: u, subject: s.subject}, status, nil
}

type breakingUnit struct {
	driver.Unit

	subject *subject
}

var errBroken = errors.New("the commit was broken on purpose")

func (u *breakingUnit) Commit(ctx context.Context) error {
	u.subject.mu.Lock()
	breaking := u.subject.breaking
	u.subject.breaking = nil
	u.subject.mu.Unlock()
	switch {
	case len(breaking) == 0:
		return u.Unit.Commit(ctx)
	case breaking[0]:
		return errors.Join(u.Unit.Commit(ctx), errBroken)
	default:
		return errors.Join(u.Rollback(ctx), errBroken)
	}
}
