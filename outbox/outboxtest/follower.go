package outboxtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Follower is a Subject whose sessions can follow a change log.
type Follower interface {
	Subject

	// Following returns a source of the group whose sessions are driver.Tailed. While they
	// follow they look into the log itself once a look.
	Following(group string, look time.Duration) driver.Source
}

// RunTail runs every check of an outbox that follows a change log, in parallel, each on a
// new subject.
func RunTail(t *testing.T, f Features, newSubject func(t *testing.T) Follower) {
	t.Helper()
	runAll(t, TailChecks(f), f, func(t *testing.T) Subject {
		t.Helper()
		return newSubject(t)
	})
}

// TailChecks returns the checks that RunTail runs.
func TailChecks(f Features) []Check {
	return applicable(tailChecks(), f)
}

// follower is a session that follows.
type follower struct {
	*reader

	trial  *trial
	tailed driver.Tailed
	wakes  <-chan struct{}
	joined bool // early pages come, and a wake tells of each
}

// following starts a session of testGroup that follows.
func (tr *trial) following(ctx context.Context, look time.Duration) (*follower, error) {
	subject, ok := tr.Subject.(Follower)
	if !ok {
		return nil, fmt.Errorf("the subject %T is no Follower", tr.Subject)
	}
	source := subject.Following(testGroup, look)
	wakes := source.Wakes(ctx)
	r, err := acquireFrom(ctx, source)
	if err != nil {
		return nil, err
	}
	tailed, ok := r.Session.(driver.Tailed)
	if !ok {
		return nil, fmt.Errorf("the session %T is no driver.Tailed", r.Session)
	}
	tailed.Follow(true)
	tr.cleanup(func() { tailed.Follow(false) })
	return &follower{reader: r, trial: tr, tailed: tailed, wakes: wakes}, nil
}

// followed is following until pages come early. From then on nothing but its wakes tells of
// messages.
func (tr *trial) followed(ctx context.Context) (*follower, error) {
	f, err := tr.following(ctx, longTTL)
	if err != nil {
		return nil, err
	}
	return f, f.join(ctx)
}

// join commits messages until one comes early.
func (f *follower) join(ctx context.Context) error {
	for range mostRecords {
		if err := f.trial.commit(ctx, named("join")...); err != nil {
			return err
		}
		p, err := f.next(ctx, 10)
		if err != nil {
			return fmt.Errorf("before the tail is joined: %w", err)
		}
		if err := f.settle(ctx, p, len(p.Records)); err != nil {
			return err
		}
		if f.joined = p.Early; f.joined {
			return nil
		}
	}
	return fmt.Errorf("the tail is not joined after %d messages", mostRecords)
}

// next reads until there is a page.
func (f *follower) next(ctx context.Context, limit int) (driver.Page, error) {
	for {
		p, err := f.page(ctx, limit)
		if err != nil || len(p.Records) > 0 {
			return p, err
		}
		if err := f.pause(ctx); err != nil {
			return p, fmt.Errorf("nothing comes: %w", err)
		}
	}
}

// pause waits for a wake or, while pages do not come early, for a moment.
func (f *follower) pause(ctx context.Context) error {
	if !f.joined {
		return wait.For(ctx, 2*time.Millisecond)
	}
	select {
	case <-f.wakes:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// expectNext reads and settles these records.
func (f *follower) expectNext(ctx context.Context, want ...string) error {
	var got []outbox.Record
	for len(got) < len(want) {
		p, err := f.next(ctx, len(want)-len(got))
		if err != nil {
			return err
		}
		if f.joined && !p.Early {
			return fmt.Errorf("%s came by a look into the log, which was not due", describe(p.Records))
		}
		got = append(got, p.Records...)
		if err := f.settle(ctx, p, len(p.Records)); err != nil {
			return err
		}
	}
	return expect(got, want...)
}
