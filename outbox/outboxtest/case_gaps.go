package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

func gapChecks() []Check {
	return []Check{
		{Name: "O2_ManyRollbacksLoseNothing", run: manyRollbacksLoseNothing},
		{Name: "O2_CutReadsLoseNothing", run: cutReadsLoseNothing},
		{
			Name: "O2_RetentionSparesLateCommits", run: retentionSparesLateCommits,
			skip: func(f Features) bool { return noRetention(f) || oneWriter(f) },
		},
	}
}

func noRetention(f Features) bool { return f.NoRetention }

var errNoRetainer = errors.New("the subject is no Retainer; say Features.NoRetention")

// manyRollbacksLoseNothing has more transactions roll back between those that commit than
// an outbox may care to remember one by one, and one that is older than all commit last.
func manyRollbacksLoseNothing(ctx context.Context, tr *trial) error {
	commitLate, err := tr.openLate(ctx, named(numbered("late", 3)...)...)
	if err != nil {
		return err
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	const length = 80
	for round, next := range []func(context.Context, *reader) (*reader, error){tr.hand, tr.takeOver} {
		names := numbered(fmt.Sprintf("round %d", round), length/2)
		for i := range length {
			if err := tr.finish(ctx, false, named("rolled back")...); err != nil {
				return err
			}
			if i%2 == 0 {
				continue // two in a row, now and then
			}
			if err := tr.commit(ctx, named(names[i/2])...); err != nil {
				return err
			}
		}
		if err := r.expectDrain(ctx, 7, names...); err != nil {
			return fmt.Errorf("between rollbacks, round %d: %w", round, err)
		}
		if r, err = next(ctx, r); err != nil {
			return err
		}
		if err := r.expectDrain(ctx, 7); err != nil {
			return fmt.Errorf("in the next session, round %d: %w", round, err)
		}
	}
	if err := commitLate(ctx); err != nil {
		return err
	}
	if err := r.expectDrain(ctx, 7, numbered("late", 3)...); err != nil {
		return fmt.Errorf("of a transaction that was open all the time: %w", err)
	}
	return r.Release(ctx)
}

// cutReadsLoseNothing cancels Reads at one moment after another. What a Read that fails may
// have read comes again, in the same session or, if that is broken, in the next one.
func cutReadsLoseNothing(ctx context.Context, tr *trial) error {
	var want []string
	c := cutting{trial: tr, unsettled: make(map[string]bool)}
	for round := range 16 {
		names := numbered(fmt.Sprintf("round %d", round), 3)
		if err := tr.commit(ctx, keyed("k", names...)...); err != nil {
			return err
		}
		want = append(want, names...)
		if err := c.round(ctx, round); err != nil {
			return err
		}
	}
	if err := c.release(ctx); err != nil {
		return err
	}
	r, err := tr.acquireSoon(ctx)
	if err != nil {
		return err
	}
	rest, err := r.drain(ctx, 10)
	if err != nil {
		return err
	}
	c.got = append(c.got, rest...)
	if err := expect(c.firsts(), want...); err != nil {
		return fmt.Errorf("through reads that were cut off: %w", err)
	}
	return r.Release(ctx)
}

// cutting is a group whose Reads are cut off.
type cutting struct {
	*trial

	r         *reader // nil if there is no session, or a broken one
	got       []outbox.Record
	unsettled map[string]bool // payloads whose Advance failed
}

// round cuts a Read off. A session that goes on after that reads once more.
func (c *cutting) round(ctx context.Context, round int) (err error) {
	if c.r == nil {
		if c.r, err = c.acquireSoon(ctx); err != nil {
			return err
		}
	}
	cut, cancel := context.WithTimeout(ctx, time.Duration(round)*100*time.Microsecond)
	defer cancel()
	if round%4 == 0 {
		cancel()
	}
	err = c.read(ctx, cut)
	if err == nil || round%2 == 0 {
		err = c.read(ctx, ctx)
	}
	if err != nil {
		_ = c.r.Release(ctx) // it is broken; its lease may have to run out
		c.r = nil
	}
	return nil
}

// read reads a page under reading, and settles it. A driver may notice the cut only after
// the Read: then the session breaks here.
func (c *cutting) read(ctx, reading context.Context) error {
	p, err := c.r.Read(reading, 2)
	if err != nil {
		return err
	}
	c.got = append(c.got, p.Records...)
	if err = c.r.Advance(ctx, p, len(p.Records)); err != nil {
		for _, r := range p.Records {
			c.unsettled[string(r.Payload)] = true
		}
	}
	return err
}

func (c *cutting) release(ctx context.Context) error {
	if c.r == nil {
		return nil
	}
	return c.r.Release(ctx)
}

// firsts returns what was read without what may have come again: records whose Advance
// failed, and, if Advance only notes the position, those of a session that broke.
func (c *cutting) firsts() []outbox.Record {
	seen := make(map[string]bool)
	return slices.DeleteFunc(slices.Clone(c.got), func(r outbox.Record) bool {
		name := string(r.Payload)
		again := seen[name] && (c.features.LazyAdvance || c.unsettled[name])
		seen[name] = true
		return again
	})
}

// acquireSoon starts a session whose lease is short, and waits for that of the one before.
func (tr *trial) acquireSoon(ctx context.Context) (*reader, error) {
	for {
		s, err := tr.Source(testGroup).Acquire(ctx, time.Second)
		switch {
		case err == nil:
			return &reader{Session: s}, s.Renew(ctx, longTTL)
		case !errors.Is(err, driver.ErrLeaseHeld):
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if err := wait.For(ctx, 5*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// retentionSparesLateCommits has retention run while a transaction is
// open below what every group has settled, and again once it has committed.
func retentionSparesLateCommits(ctx context.Context, tr *trial) error {
	retainer, ok := tr.Subject.(Retainer)
	if !ok {
		return errNoRetainer
	}
	if err := tr.commit(ctx, named(numbered("old", 3)...)...); err != nil {
		return err
	}
	late, err := tr.open(ctx, named(numbered("late", 3)...)...)
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, named(numbered("quick", 3)...)...); err != nil {
		return err
	}
	if err := tr.expectAll(ctx, append(numbered("old", 3), numbered("quick", 3)...)...); err != nil {
		return err
	}
	if err := retainer.Retain(ctx); err != nil {
		return fmt.Errorf("retain: %w", err)
	}
	if err := late.Commit(ctx); err != nil {
		return err
	}
	if err := retainer.Retain(ctx); err != nil {
		return fmt.Errorf("retain: %w", err)
	}
	if err := tr.expectAll(ctx, numbered("late", 3)...); err != nil {
		return fmt.Errorf("of a transaction that was open when retention ran: %w", err)
	}
	if err := retainer.Retain(ctx); err != nil {
		return fmt.Errorf("retain: %w", err)
	}
	if err := tr.commit(ctx, named("next")...); err != nil {
		return err
	}
	if err := tr.expectAll(ctx, "next"); err != nil {
		return fmt.Errorf("after all was settled and retention has run: %w", err)
	}
	if tr.features.NoGroups || tr.features.NoHistory {
		return nil
	}
	r, err := acquireFrom(ctx, tr.Source("newcomer"))
	if err != nil {
		return err
	}
	got, err := r.drain(ctx, 10)
	if err != nil {
		return err
	}
	if len(got) == 0 || string(got[len(got)-1].Payload) != "next" {
		return fmt.Errorf("a new group reads %s behind what was deleted", describe(got))
	}
	return r.Release(ctx)
}
