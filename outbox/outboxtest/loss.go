package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

func lossChecks() []Check {
	return []Check{
		{Name: "O2_LateCommitterIsRead", run: lateCommitterIsRead, skip: oneWriter},
		{Name: "O2_LateCommitterAfterHandover", run: lateCommitterAfterHandover, skip: oneWriter},
		{Name: "O2_LateCommitterBetweenPages", run: lateCommitterBetweenPages, skip: oneWriter},
		{Name: "O2_FullPageIsNotTheEnd", run: fullPageIsNotTheEnd},
		{Name: "O2_EmptyPageMeansNothingLeft", run: emptyPageMeansNothingLeft},
		{Name: "O2_ManyRollbacksLoseNothing", run: manyRollbacksLoseNothing},
		{Name: "O2_CutReadsLoseNothing", run: cutReadsLoseNothing},
		{Name: "O2_ForeignRowsAreRecords", run: foreignRowsAreRecords},
		{
			Name: "O2_RetentionSparesLateCommits", run: retentionSparesLateCommits,
			skip: func(f Features) bool { return noRetention(f) || oneWriter(f) },
		},
		{Name: "O2_ConcurrentWriters", run: concurrentWriters(false)},
		{
			Name: "O5_KeyOrderIsCommitOrder", run: concurrentWriters(true),
			skip: func(f Features) bool { return f.NoKeyOrder },
		},
		{Name: "O11_OpenTransactionDelaysNothing", run: openTransactionDelaysNothing, skip: oneWriter},
	}
}

// lateCommitterIsRead has transactions draw low numbers and commit after higher
// ones were read and settled.
func lateCommitterIsRead(ctx context.Context, tr *trial) {
	r := tr.acquire(ctx)
	early := tr.open(ctx, named("early-1")...)
	middle := tr.open(ctx, named("middle-1")...)
	steps := []struct {
		do   func()
		want []string
	}{
		{func() { tr.commit(ctx, named("quick-1", "quick-2")...) }, []string{"quick-1", "quick-2"}},
		{func() { fail.If(early.Enqueue(ctx, named("early-2")...)) }, nil},
		{func() { tr.commit(ctx, named("quick-3")...) }, []string{"quick-3"}},
		{func() { fail.If(middle.Commit(ctx)) }, []string{"middle-1"}},
		{func() { fail.If(early.Commit(ctx)) }, []string{"early-1", "early-2"}},
		{func() {}, nil},
	}
	for i, step := range steps {
		step.do()
		fail.In(fmt.Sprintf("step %d", i), func() { r.expectDrain(ctx, 1+i%2, step.want...) })
	}
}

// lateCommitterAfterHandover stores the position past the open transaction, by a
// release and by a crash.
func lateCommitterAfterHandover(ctx context.Context, tr *trial) {
	for _, next := range []func(context.Context, *reader) *reader{tr.hand, tr.takeOver} {
		late := tr.open(ctx, named("late")...)
		tr.commit(ctx, named("quick")...)
		r := tr.acquire(ctx)
		r.expectDrain(ctx, 1, "quick")
		r = next(ctx, r)
		fail.If(late.Commit(ctx))
		r.expectDrain(ctx, 1, "late")
		fail.If(r.Release(ctx))
	}
}

// lateCommitterBetweenPages commits low numbers while pages of higher ones are
// being read, and low numbers among many: more than a page of them.
func lateCommitterBetweenPages(ctx context.Context, tr *trial) {
	late := tr.open(ctx, named(numbered("late", 5)...)...)
	tr.commit(ctx, named(numbered("quick", 5)...)...)
	r := tr.acquire(ctx)
	p := r.expectPage(ctx, 2, "quick-1", "quick-2")
	fail.If(late.Commit(ctx))
	tr.commit(ctx, named("last")...)
	r.settle(ctx, p, 2)
	expectSet(r.drain(ctx, 2), slices.Concat(numbered("quick", 5)[2:], numbered("late", 5), []string{"last"}))
}

func fullPageIsNotTheEnd(ctx context.Context, tr *trial) {
	r := tr.acquire(ctx)
	for _, limit := range []int{1, 2, 3, 5, 9, 10, 11} {
		var want []string
		for _, part := range []int{4, 1, 5} {
			batch := numbered(fmt.Sprintf("limit %d part %d", limit, part), part)
			tr.commit(ctx, named(batch...)...)
			want = append(want, batch...)
		}
		fail.In(fmt.Sprintf("pages of %d", limit), func() { r.expectDrain(ctx, limit, want...) })
	}
}

// emptyPageMeansNothingLeft reads ahead: as long as pages are not settled, an
// empty page that is not Waiting must not hide a committed record.
func emptyPageMeansNothingLeft(ctx context.Context, tr *trial) {
	r := tr.acquire(ctx)
	tr.commit(ctx, named("a-1", "a-2", "a-3")...)
	first := r.expectPage(ctx, 10, "a-1", "a-2", "a-3")
	tr.commit(ctx, named("b-1", "b-2")...)
	ahead := r.page(ctx, 10)
	if len(ahead.Records) == 0 && !ahead.Waiting {
		fail.With("read: an empty page that is not Waiting hides records that had committed")
	}
	r.settle(ctx, first, 3)
	var got []outbox.Record
	if len(ahead.Records) > 0 {
		got = append(got, ahead.Records...)
		r.settle(ctx, ahead, len(ahead.Records))
	}
	expect(append(got, r.drain(ctx, 10)...), "b-1", "b-2")
}

func noRetention(f Features) bool { return f.NoRetention }

var errNoRetainer = errors.New("the subject is not a Retainer; say Features.NoRetention")

// manyRollbacksLoseNothing has more transactions roll back between commits than an outbox may
// want to remember one by one, and commits last a transaction that is older than all others.
func manyRollbacksLoseNothing(ctx context.Context, tr *trial) {
	commitLate := tr.openLate(ctx, named(numbered("late", 3)...)...)
	r := tr.acquire(ctx)
	const length = 80
	for round, next := range []func(context.Context, *reader) *reader{tr.hand, tr.takeOver} {
		names := numbered(fmt.Sprintf("round %d", round), length/2)
		for i := range length {
			fail.If(tr.finish(ctx, false, named("rolled back")...))
			if i%2 == 0 {
				continue // two in a row, now and then
			}
			tr.commit(ctx, named(names[i/2])...)
		}
		fail.In(fmt.Sprintf("between rollbacks, round %d", round), func() { r.expectDrain(ctx, 7, names...) })
		r = next(ctx, r)
		fail.In(fmt.Sprintf("in the next session, round %d", round), func() { r.expectDrain(ctx, 7) })
	}
	commitLate(ctx)
	fail.In("of a transaction that was open all the time", func() { r.expectDrain(ctx, 7, numbered("late", 3)...) })
	fail.If(r.Release(ctx))
}

// cutReadsLoseNothing cancels Reads at one moment after another. What a failed Read may have read
// comes again, in the same session or, if that is broken, in the next one.
func cutReadsLoseNothing(ctx context.Context, tr *trial) {
	var want []string
	c := cutting{trial: tr, unsettled: make(map[string]bool)}
	for round := range 16 {
		names := numbered(fmt.Sprintf("round %d", round), 3)
		tr.commit(ctx, keyed("k", names...)...)
		want = append(want, names...)
		c.round(ctx, round)
	}
	c.release(ctx)
	r := tr.acquireSoon(ctx)
	rest := r.drain(ctx, 10)
	c.got = append(c.got, rest...)
	fail.In("through reads that were cut off", func() { expect(c.firsts(), want...) })
	fail.If(r.Release(ctx))
}

// cutting is a group whose Reads are interrupted.
type cutting struct {
	*trial

	r         *reader // nil if there is no session, or a broken one
	got       []outbox.Record
	unsettled map[string]bool // payloads whose Advance failed
}

// round interrupts a Read. A session that survives it reads once more.
func (c *cutting) round(ctx context.Context, round int) {
	if c.r == nil {
		c.r = c.acquireSoon(ctx)
	}
	cut, cancel := context.WithTimeout(ctx, time.Duration(round)*100*time.Microsecond)
	defer cancel()
	if round%4 == 0 {
		cancel()
	}
	err := c.read(ctx, cut)
	if err == nil || round%2 == 0 {
		err = c.read(ctx, ctx)
	}
	if err != nil {
		_ = c.r.Release(ctx) // it is broken; its lease may have to expire
		c.r = nil
	}
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

func (c *cutting) release(ctx context.Context) {
	if c.r == nil {
		return
	}
	fail.If(c.r.Release(ctx))
}

// firsts returns what was read, without records that may have come again: records whose Advance
// failed and, if Advance only records the position, those of a session that broke.
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
func (tr *trial) acquireSoon(ctx context.Context) *reader {
	for {
		s, err := tr.Source(testGroup).Acquire(ctx, time.Second)
		switch {
		case err == nil:
			fail.If(s.Renew(ctx, longTTL))
			return &reader{Session: s}
		case !errors.Is(err, driver.ErrLeaseHeld):
			fail.With("acquire: %w", err)
		}
		fail.If(wait.For(ctx, 5*time.Millisecond))
	}
}

// retentionSparesLateCommits has retention run while a transaction is
// open below what every group has settled, and again once it has committed.
func retentionSparesLateCommits(ctx context.Context, tr *trial) {
	retainer, ok := tr.Subject.(Retainer)
	if !ok {
		fail.Now(errNoRetainer)
	}
	tr.commit(ctx, named(numbered("old", 3)...)...)
	late := tr.open(ctx, named(numbered("late", 3)...)...)
	tr.commit(ctx, named(numbered("quick", 3)...)...)
	tr.expectAll(ctx, append(numbered("old", 3), numbered("quick", 3)...)...)
	fail.If(retainer.Retain(ctx), "retain")
	fail.If(late.Commit(ctx))
	fail.If(retainer.Retain(ctx), "retain")
	fail.In("of a transaction that was open when retention ran", func() { tr.expectAll(ctx, numbered("late", 3)...) })
	fail.If(retainer.Retain(ctx), "retain")
	tr.commit(ctx, named("next")...)
	fail.In("after all was settled and retention has run", func() { tr.expectAll(ctx, "next") })
	if tr.features.NoGroups || tr.features.NoHistory {
		return
	}
	r := acquireFrom(ctx, tr.Source("newcomer"))
	got := r.drain(ctx, 10)
	if len(got) == 0 || string(got[len(got)-1].Payload) != "next" {
		fail.With("a new group reads %s behind what was deleted", describe(got))
	}
	fail.If(r.Release(ctx))
}

// concurrentWriters reads, in small pages and under changing leases, while a
// storm writes and one transaction that drew its numbers before all others is
// still open. Nothing fails, so each committed record is read exactly once.
func concurrentWriters(ordered bool) func(context.Context, *trial) {
	return func(ctx context.Context, tr *trial) {
		commitLate := tr.openLate(ctx, named(numbered("late", 3)...)...)
		writers := newStorm(tr)
		done := writers.start(ctx, 1)
		got := tr.follow(ctx, done)
		fail.If(writers.err())
		fail.In("with a transaction open since before", func() { expectSet(got, writers.names()) })
		commitLate(ctx)
		fail.In("after the late commit", func() { tr.expectAll(ctx, numbered("late", 3)...) })
		if !ordered {
			return
		}
		expectOrder(got)
		writers.inCommitOrder(got)
	}
}

// follow reads until writers is closed and nothing is left. It reads up to three pages ahead of
// what it settles, and hands over the lease now and then.
func (tr *trial) follow(ctx context.Context, writers <-chan struct{}) []outbox.Record {
	r := tr.acquire(ctx)
	var got []outbox.Record
	var ahead []driver.Page
	for len(got) < mostRecords {
		finished := closed(writers)
		p := r.page(ctx, 7)
		if len(p.Records) > 0 {
			got = append(got, p.Records...)
			ahead = r.settleAll(ctx, append(ahead, p), 3)
			continue
		}
		if p.Waiting && len(ahead) == 0 {
			fail.Now(errWaitingIdle)
		}
		ahead = r.settleAll(ctx, ahead, 0)
		switch {
		case p.Waiting:
			continue
		case finished:
			fail.If(r.Release(ctx))
			return got
		}
		r = tr.hand(ctx, r)
		fail.If(wait.For(ctx, time.Millisecond))
	}
	fail.Now(errNoEnd)
	return got
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// settleAll settles pages, the oldest first, until keep are left.
func (r *reader) settleAll(ctx context.Context, pages []driver.Page, keep int) []driver.Page {
	for len(pages) > keep {
		r.settle(ctx, pages[0], len(pages[0].Records))
		pages = pages[1:]
	}
	return pages
}

// openTransactionDelaysNothing reads window after window while a transaction stays open that
// wrote to the outbox before all of them and, if the subject supports it, one that has nothing to
// do with the outbox.
func openTransactionDelaysNothing(ctx context.Context, tr *trial) {
	if holder, ok := tr.Subject.(ForeignHolder); ok {
		release, err := holder.HoldForeign(ctx)
		fail.If(err, "hold a foreign transaction")
		tr.cleanup(release)
	}
	held := tr.open(ctx, append(keyed("held", "late-1"), named("late-2")...)...)
	r := tr.acquire(ctx)
	for round := range 5 {
		batch := numbered(fmt.Sprintf("round%d", round), 4)
		tr.commit(ctx, keyed(fmt.Sprintf("key%d", round%2), batch...)...)
		fail.In("while another transaction is open", func() { r.expectDrain(ctx, 3, batch...) })
		if round == 2 {
			r = tr.hand(ctx, r)
		}
	}
	fail.If(held.Commit(ctx))
	r.expectDrain(ctx, 1, "late-1", "late-2")
}
