package pgoutbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestTail_Conformance_Relay runs the suite of outbox and relay with a tail.
//
//leat:level 2
func TestTail_Conformance_Relay(t *testing.T) {
	t.Parallel()
	server := logical(t)
	outboxtest.RunRelay(t, features(), func(t *testing.T) outboxtest.Subject { return newTailSubject(t, server) })
}

// TestTail_Conformance runs the suite of all outboxes with sessions that follow a tail.
//
//leat:level 2
func TestTail_Conformance(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "the suite of the relay has the same with a tail")
	server := logical(t)
	outboxtest.Run(t, features(), func(t *testing.T) outboxtest.Subject {
		return &followingSubject{newTailSubject(t, server)}
	})
}

// tailSubject is an outbox whose sources have a tail if they have one slot.
type tailSubject struct {
	pgxSubject

	server *testenv.PostgresServer
}

func newTailSubject(t *testing.T, server *testenv.PostgresServer) *tailSubject {
	t.Helper()
	ob, db := tailed(t, server)
	return &tailSubject{pgxSubject{subject{ob, ob.Admin(), db, t}}, server}
}

const shortLook = 10 * time.Millisecond

// Source implements outboxtest.Subject.
func (s *tailSubject) Source(group string) driver.Source { return s.Following(group, 20*shortLook) }

// Following implements outboxtest.Follower.
func (s *tailSubject) Following(group string, look time.Duration) driver.Source {
	source, err := s.Outbox.Source(pgoutbox.SourceConfig{
		Group: group, Start: driver.Start{Oldest: true}, Tail: &pgoutbox.TailConfig{Look: look},
	})
	if err != nil {
		panic(err) // the suite's groups are valid
	}
	return source
}

// Another implements outboxtest.Neighbor.
func (s *tailSubject) Another(context.Context) (outboxtest.Subject, error) {
	return newTailSubject(s.t, s.server), nil
}

// followingSubject is a subject whose sessions follow from the start.
type followingSubject struct{ *tailSubject }

// Source implements outboxtest.Subject.
func (s *followingSubject) Source(group string) driver.Source {
	return followingSource{s.Following(group, shortLook).(*pgoutbox.Source), s.t}
}

type followingSource struct {
	*pgoutbox.Source

	t testing.TB
}

// Acquire implements driver.Source.
func (s followingSource) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	session, err := s.Source.Acquire(ctx, ttl)
	if err != nil {
		return nil, err
	}
	following := followingSession{session.(wholeSession)}
	following.Follow(true)
	s.t.Cleanup(func() { following.Follow(false) }) // the suite leaves sessions behind, as crashes do
	return following, nil
}

// wholeSession is the set of interfaces that a session of pgoutbox implements.
type wholeSession interface {
	driver.Holder
	driver.Slotted
	driver.Positioned
	driver.Tailed
	driver.OutageKeeper
}

type followingSession struct{ wholeSession }

// Read implements driver.Session. An empty page of a following session is not conclusive until the session
// has polled the log. Each read is retried for long enough that most pages are early.
func (s followingSession) Read(ctx context.Context, limit int) (driver.Page, error) {
	for tries := 0; ; tries++ {
		page, err := s.wholeSession.Read(ctx, limit)
		if err != nil || len(page.Records) > 0 || page.Waiting || tries == 3 {
			return page, err
		}
		_ = wait.For(ctx, shortLook)
	}
}
