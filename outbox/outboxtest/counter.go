package outboxtest

import (
	"context"
	"errors"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// counterChecks set the counter of a CounterSetter back. They do nothing on other Subjects.
func counterChecks() []Check {
	return []Check{
		{Name: "O2_CounterSetBackByAsManyAsCome", run: counterSetBack{come: counterGap}.run},
		{Name: "O2_CounterSetBackUnderASession", run: counterSetBack{come: 3 * counterGap}.run},
		{Name: "O2_CounterSetBackBetweenSessions", run: counterSetBack{come: 3 * counterGap, between: true}.run},
		{Name: "O2_CounterSetBackBehindABacklog", run: counterSetBack{come: counterGap - 1, between: true, backlog: 130}.run},
		{
			Name: "O2_CounterSetBackUnderSlots", run: counterSetBack{come: 3 * counterGap, slots: 2}.run,
			skip: func(f Features) bool { return f.NoSlots },
		},
		{
			Name: "O2_CounterSetBackUnderPositions", run: counterSetBack{come: 3 * counterGap, positions: true}.run,
			skip: noPositions,
		},
	}
}

// counterGap is how many numbers are rolled back, and assigned once more.
const counterGap = 12

// counterSetBack is a check with a counter that is set back behind numbers that were rolled
// back: none of them is in the log, but the sessions have passed them.
type counterSetBack struct {
	come      int  // number of records that are committed with the numbers from there on
	between   bool // the counter is set back while there is no session
	backlog   int  // number of records that are committed before that, and not read
	slots     int  // 0: the group has no slots
	positions bool // a sink keeps the positions
}

func (c counterSetBack) run(ctx context.Context, tr *trial) {
	setter, ok := tr.Subject.(CounterSetter)
	if !ok {
		return
	}
	src := tr.Source(testGroup)
	if c.slots > 0 || c.positions {
		src = tr.group(GroupConfig{Slots: c.slots, Positions: c.positions})
	}
	readers := acquireSome(ctx, src, max(c.slots, 1))
	last := tr.passGap(ctx, readers)
	if c.between {
		releaseAll(ctx, readers)
		readers = nil
	}
	want := numbered("waiting", c.backlog)
	for i := range want {
		tr.commit(ctx, keyed("waiting", want[i])...)
	}
	fail.If(setter.SetCounter(ctx, last), "set the counter back")
	for _, name := range numbered("come", c.come) {
		tr.commit(ctx, keyed("come", name)...)
		want = append(want, name)
	}
	if c.backlog > 0 { // an operator notices the numbers that exist already
		fail.If(setter.SetCounter(ctx, last+2*counterGap+int64(c.backlog)), "set the counter forward")
	}
	got, refused := readOn(ctx, src, readers, max(c.slots, 1))
	if refused == nil {
		expectSet(got, want)
		expectOrder(got)
		return
	}
	tr.staysRefused(ctx, src)
}

// passGap makes the readers settle what is committed, and pass a gap of numbers after it that
// were rolled back. It returns the number before the gap.
func (tr *trial) passGap(ctx context.Context, readers []*reader) (last int64) {
	tr.commit(ctx, named("before")...)
	for _, read := range drainSlots(ctx, readers, 10) {
		for i := range read {
			last = read[i].Seq
		}
	}
	for range counterGap {
		fail.If(tr.finish(ctx, false, named("rolled back")...))
		drainSlots(ctx, readers, 10) // a position may reach the end of the gap by a few reads
	}
	return last
}

// acquireSome starts n sessions.
func acquireSome(ctx context.Context, src driver.Source, n int) []*reader {
	readers := make([]*reader, n)
	for i := range readers {
		readers[i] = acquireFrom(ctx, src)
	}
	return readers
}

// readOn reads to the end in readers, or in new sessions of the given number of slots if there
// are none. It stops at an error that trying again does not fix, and returns it.
func readOn(ctx context.Context, src driver.Source, readers []*reader, slots int) (got []outbox.Record, refused error) {
	if readers == nil {
		for range slots {
			s, err := src.Acquire(ctx, longTTL)
			if errors.Is(err, driver.ErrSourceUnusable) {
				return nil, err
			}
			fail.If(err, "acquire")
			readers = append(readers, &reader{Session: s})
		}
	}
	for _, r := range readers {
		for {
			p, err := r.tryPage(ctx, 10)
			if errors.Is(err, driver.ErrSourceUnusable) {
				fail.If(r.Release(ctx))
				return got, err
			}
			fail.If(err)
			if len(p.Records) == 0 {
				break
			}
			got = append(got, p.Records...)
			r.settle(ctx, p, len(p.Records))
		}
	}
	return got, nil
}

// staysRefused moves the counter further than it ever was: the records with the numbers that were
// assigned twice are still not read.
func (tr *trial) staysRefused(ctx context.Context, src driver.Source) {
	for range 3 * counterGap {
		tr.commit(ctx, named("later")...)
	}
	for range 2 {
		_, err := src.Acquire(ctx, longTTL)
		expectError("acquire after the counter has passed where it was", err, driver.ErrSourceUnusable)
	}
}
