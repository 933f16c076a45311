package outboxtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

func tailChecks() []Check {
	return []Check{
		{Name: "Tail_O2_BringsWhatRingsNoBell", run: tailBringsWhatRingsNoBell},
		{Name: "Tail_O5_KeysKeepTheirOrderAtTheSeam", run: keysKeepTheirOrderAtTheSeam},
		{Name: "Tail_O11_BeginsInTheBackground", run: tailBeginsInTheBackground},
		{Name: "Tail_O2_EarlyThenCrash", run: earlyThenCrash},
		{Name: "Tail_O2_EarlyPassesNoLateCommit", run: earlyPassesNoLateCommit},
		{Name: "Tail_O2_WithdrawnComesAgain", run: withdrawnComesAgain},
	}
}

// tailBringsWhatRingsNoBell: committed records arrive through the tail, once, and without a
// read of the log. After a release, the next session does not read them again.
func tailBringsWhatRingsNoBell(ctx context.Context, tr *trial) {
	f := tr.followed(ctx)
	for round := range 5 {
		batch := numbered(fmt.Sprintf("round%d", round), 3)
		select { // a wake of the previous round may be pending
		case <-f.wakes:
		default:
		}
		tr.commit(ctx, keyed("k", batch...)...)
		fail.If(f.pause(ctx), "no wake tells of what was committed")
		f.expectNext(ctx, batch...)
	}
	r := tr.hand(ctx, f.reader)
	fail.In("behind a release", func() { r.expectDrain(ctx, 10) })
	fail.If(r.Release(ctx))
}

const (
	// seamLook is a time between two looks in which some messages come early.
	seamLook = 20 * time.Millisecond
	// seamPace is the time between two transactions, so that looks come due.
	seamPace = seamLook / 10
)

// keysKeepTheirOrderAtTheSeam alternates between early pages and others, while a transaction is
// open that is older than the tail and commits late.
func keysKeepTheirOrderAtTheSeam(ctx context.Context, tr *trial) {
	commitLate := tr.openLate(ctx, keyed("late", "late-1")...)
	f := tr.following(ctx, seamLook)
	seam := seam{follower: f, want: make(map[string][]string)}
	for round := 0; !seam.crossed(); round++ {
		switch round {
		case 10:
			commitLate(ctx)
			seam.want["late"] = []string{"late-1"}
		case mostRecords / 10:
			fail.With("after %d transactions: %d pages came early, %d by a look", round, seam.early, seam.looked)
		}
		seam.round(ctx, round)
		fail.If(wait.For(ctx, seamPace))
	}
	f.tailed.Follow(false)
	seam.check(append(seam.got, f.drain(ctx, 2)...))
	fail.If(f.Release(ctx))
}

// seam is the record of what was written and read around the ends of windows.
type seam struct {
	*follower

	want   map[string][]string // by key
	got    []outbox.Record
	early  int // number of early pages
	looked int // number of pages of windows after the first early page
}

// crossed reports whether enough has arrived on both ways, alternately.
func (s *seam) crossed() bool { return s.early >= 20 && s.looked >= 20 && s.want["late"] != nil }

// round writes a few messages and reads some: at times the rest of a window, when others arrive
// early.
func (s *seam) round(ctx context.Context, round int) {
	key := fmt.Sprintf("key%d", round%2)
	names := numbered(fmt.Sprintf("round%d", round), 3)
	if round > 10 && round%5 == 0 {
		key = "late"
	}
	s.trial.commit(ctx, keyed(key, names...)...)
	s.want[key] = append(s.want[key], names...)
	for range 1 + round%3 {
		p := s.page(ctx, 2)
		if len(p.Records) == 0 {
			return
		}
		switch {
		case p.Early:
			s.early++
		case s.early > 0:
			s.looked++
		}
		s.got = append(s.got, p.Records...)
		s.settle(ctx, p, len(p.Records))
	}
}

// check compares what was read with what was written, and the order of each key.
func (s *seam) check(got []outbox.Record) {
	var all []string
	for _, names := range s.want {
		all = append(all, names...)
	}
	expectSet(got, all)
	for key, want := range s.want {
		of := slices.DeleteFunc(slices.Clone(got), func(r outbox.Record) bool { return r.Key != key })
		fail.In("key "+key, func() { expect(of, want...) })
	}
}

// tailBeginsInTheBackground: transactions that are older than the tail may prevent it from
// beginning, but hold up no reads.
func tailBeginsInTheBackground(ctx context.Context, tr *trial) {
	release := func() {}
	if holder, ok := tr.Subject.(ForeignHolder); ok {
		end, err := holder.HoldForeign(ctx)
		fail.If(err, "hold a foreign transaction")
		release = sync.OnceFunc(end)
		tr.cleanup(release)
	}
	commitLate := tr.openLate(ctx, named("late")...)
	f := tr.following(ctx, seamLook)
	for round := range 5 {
		batch := numbered(fmt.Sprintf("round%d", round), 3)
		tr.commit(ctx, keyed("k", batch...)...)
		fail.In("while transactions are open that are older", func() { f.expectNext(ctx, batch...) })
	}
	release()
	commitLate(ctx)
	f.expectNext(ctx, "late")
	f.join(ctx)
	fail.If(f.Release(ctx))
}

// earlyThenCrash: a session that ends without a release has lost nothing of what it has read
// early. What it has settled may come again, in its order.
func earlyThenCrash(ctx context.Context, tr *trial) {
	f := tr.followed(ctx)
	tr.commit(ctx, keyed("k", "settled-1", "settled-2")...)
	f.expectNext(ctx, "settled-1", "settled-2")
	tr.commit(ctx, keyed("k", "read")...)
	f.next(ctx, 10)
	r := tr.takeOver(ctx, f.reader)
	got := r.drain(ctx, 10)
	got = slices.DeleteFunc(got, func(r outbox.Record) bool { return r.Key == "" }) // messages that join has committed
	want := []string{"settled-1", "settled-2", "read"}
	if len(got) == 0 || len(got) > len(want) {
		fail.With("lost in a crash: read %s, want %v", describe(got), want)
	}
	expect(got, want[len(want)-len(got):]...)
	fail.If(r.Release(ctx))
}

// earlyPassesNoLateCommit: a transaction that commits after later ones arrived early is read,
// whether the session was released or has crashed.
func earlyPassesNoLateCommit(ctx context.Context, tr *trial) {
	for _, next := range []func(context.Context, *reader) *reader{tr.hand, tr.takeOver} {
		f := tr.followed(ctx)
		commitLate := tr.openLate(ctx, keyed("late", "late")...)
		tr.commit(ctx, named("early")...)
		f.expectNext(ctx, "early")
		r := next(ctx, f.reader)
		commitLate(ctx)
		got := r.drain(ctx, 10)
		got = slices.DeleteFunc(got, func(r outbox.Record) bool { return r.Key == "" })
		fail.In("committed late", func() {
			expect(got, "late")
			fail.If(r.Release(ctx))
		})
	}
}

// withdrawnComesAgain: a withdrawn page comes again with the pages after it, in pages that can be
// held, without the records that were acknowledged.
func withdrawnComesAgain(ctx context.Context, tr *trial) {
	f := tr.followed(ctx)
	var pages []driver.Page
	for _, msgs := range [][]outbox.Message{
		slices.Concat(keyed("a", "a1"), keyed("b", "b1"), keyed("a", "a2")), keyed("a", "a3"),
	} {
		tr.commit(ctx, msgs...)
		p := f.next(ctx, 10)
		if !p.Early || len(p.Records) != len(msgs) || !f.tailed.Current(p) {
			fail.With("read %s early %t, want %d records that are to be sent", describe(p.Records), p.Early, len(msgs))
		}
		pages = append(pages, p)
	}
	f.tailed.Withdraw(pages[0], []int{1})
	f.tailed.Follow(false) // like a relay that is interrupted
	for _, p := range pages {
		if f.tailed.Current(p) {
			fail.With("%s is still to be sent after it was withdrawn", describe(p.Records))
		}
	}
	tr.commit(ctx, keyed("a", "a4")...)
	f.joined = false
	var p driver.Page
	fail.In("withdrawn", func() {
		p = f.next(ctx, 10)
		expect(p.Records, "a1", "a2", "a3", "a4")
	})
	if p.Early {
		fail.With("withdrawn: what comes again comes early")
	}
	if h, ok := f.Session.(driver.Holder); ok && !tr.features.NoHolder {
		fail.If(h.Hold(ctx, p, len(p.Records), []driver.Holding{
			{Index: 0, Fate: driver.FatePark, Reason: "poison"},
			{Index: 1, Fate: driver.FateWait},
			{Index: 2, Fate: driver.FateWait},
			{Index: 3, Fate: driver.FateWait},
		}))
	} else {
		f.settle(ctx, p, len(p.Records))
	}
	f.expectDrain(ctx, 10)
	fail.If(f.Release(ctx))
}

// Follower is a Subject whose sessions can follow a change log.
type Follower interface {
	Subject

	// Following returns a source of the group whose sessions are driver.Tailed. While they
	// follow, they read the log itself only once per look.
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
	joined bool // early pages arrive, and a wake announces each
}

// following starts a session of testGroup that follows.
func (tr *trial) following(ctx context.Context, look time.Duration) *follower {
	subject, ok := tr.Subject.(Follower)
	if !ok {
		fail.With("the subject %T is not a Follower", tr.Subject)
	}
	source := subject.Following(testGroup, look)
	wakes := source.Wakes(ctx)
	r := acquireFrom(ctx, source)
	tailed, ok := r.Session.(driver.Tailed)
	if !ok {
		fail.With("the session %T is not a driver.Tailed", r.Session)
	}
	tailed.Follow(true)
	tr.cleanup(func() { tailed.Follow(false) })
	return &follower{reader: r, trial: tr, tailed: tailed, wakes: wakes}
}

// followed is following, and waits until pages arrive early. From then on only its wakes announce
// messages.
func (tr *trial) followed(ctx context.Context) *follower {
	f := tr.following(ctx, longTTL)
	f.join(ctx)
	return f
}

// join commits messages until one arrives early.
func (f *follower) join(ctx context.Context) {
	for range mostRecords {
		f.trial.commit(ctx, named("join")...)
		var p driver.Page
		fail.In("before the tail is joined", func() { p = f.next(ctx, 10) })
		f.settle(ctx, p, len(p.Records))
		if f.joined = p.Early; f.joined {
			return
		}
	}
	fail.With("the tail is not joined after %d messages", mostRecords)
}

// next reads until there is a page.
func (f *follower) next(ctx context.Context, limit int) driver.Page {
	for {
		if p := f.page(ctx, limit); len(p.Records) > 0 {
			return p
		}
		fail.If(f.pause(ctx), "nothing comes")
	}
}

// pause waits for a wake or, while pages do not arrive early, for a moment.
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
func (f *follower) expectNext(ctx context.Context, want ...string) {
	var got []outbox.Record
	for len(got) < len(want) {
		p := f.next(ctx, len(want)-len(got))
		if f.joined && !p.Early {
			fail.With("%s came by a look into the log, which was not due", describe(p.Records))
		}
		got = append(got, p.Records...)
		f.settle(ctx, p, len(p.Records))
	}
	expect(got, want...)
}
