package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

func seekChecks() []Check {
	return unless(
		noPositions,
		Check{Name: "O10_SeekGoesToTheSinksPosition", run: seekGoesToTheSinksPosition},
		Check{Name: "O10_SeekWhereThereWasNothingSince", run: seekWhereNothingWas},
		Check{
			Name: "O10_SeekAfterTheSlotsHaveChanged", run: seekAfterTheSlotsHaveChanged,
			skip: noSlotChange,
		},
		Check{Name: "O12_SeekBeforeTheFirstRecord", run: seekBeforeTheFirstRecord},
		Check{Name: "O12_SlotNamesDiffer", run: slotNamesDiffer},
		Check{Name: "O2_SeekRefusesWhatIsBehind", run: seekRefusesWhatIsBehind},
		Check{Name: "O2_SeekRefusesOtherPositions", run: seekRefusesOtherPositions},
		Check{Name: "O2_SeekRefusesWhatWasLost", run: seekRefusesWhatWasLost},
		Check{Name: "O9_SeekOfALostLease", run: seekOfALostLease},
	)
}

func noPositions(f Features) bool { return f.NoPositions }

// seekGoesToTheSinksPosition delivers one record per session, with its position, and crashes
// before the session stores anything.
func seekGoesToTheSinksPosition(ctx context.Context, tr *trial) {
	commitLate := tr.openLate(ctx, keyed("late", numbered("late", 2)...)...)
	s := tr.placed(ctx)
	tr.commit(ctx, keyed("k", "settled")...)
	s.reader.expectDrain(ctx, 10, "settled")
	tr.commit(ctx, keyed("k", numbered("m", 4)...)...)
	commitLate(ctx)
	want := append(numbered("late", 2), numbered("m", 4)...)
	var got []outbox.Record
	for range want {
		p := s.reader.page(ctx, 3)
		if len(p.Records) == 0 {
			break
		}
		position := s.at(p, 1)
		first := p.Records[0]
		first.Payload = slices.Clone(first.Payload)
		got = append(got, first)
		s = tr.crashed(ctx, s)
		fail.In("to behind "+describe(got), func() { s.seek(ctx, position) })
	}
	expectSet(got, want)
	s.reader.expectDrain(ctx, 10)
	expectOrder(got)
}

// seekWhereNothingWas: the session has got further than the sink, through windows in which it had
// nothing to send.
func seekWhereNothingWas(ctx context.Context, tr *trial) {
	s := tr.placed(ctx)
	tr.commit(ctx, keyed("k", "a", "b")...)
	p := s.reader.expectPage(ctx, 10, "a", "b")
	end := s.at(p, 2)
	s.reader.settle(ctx, p, 2)
	for range 4 {
		fail.If(tr.finish(ctx, false, keyed("k", "rolled back")...))
		s.reader.expectDrain(ctx, 10)
	}
	s = tr.released(ctx, s)
	fail.In("to the last record, since when nothing was committed", func() { s.seek(ctx, end) })
	tr.commit(ctx, keyed("k", "c")...)
	s.reader.expectDrain(ctx, 10, "c")
}

// seekAfterTheSlotsHaveChanged seeks with positions from before the change, at which each slot
// had settled everything.
func seekAfterTheSlotsHaveChanged(ctx context.Context, tr *trial) {
	s := tr.placed(ctx)
	tr.commit(ctx, keyed("k", "a", "b")...)
	p := s.reader.expectPage(ctx, 10, "a", "b")
	end := s.at(p, 2)
	s.reader.settle(ctx, p, 2)
	f := tr.fleet(1)
	f.positions = true
	f.readers[0] = s.reader
	f.change(ctx, 3)
	s = asPlaced(f.readers[0])
	fail.In("to the last record before the change", func() { s.seek(ctx, end) })
	tr.commit(ctx, keyed("k", "c")...)
	for len(f.got) == 0 {
		f.round(ctx)
	}
	expect(f.got, "c")
}

// seekBeforeTheFirstRecord seeks to the position at which a session begins, which is what a sink
// gets before anything is read, and, if nothing was settled, with none.
func seekBeforeTheFirstRecord(ctx context.Context, tr *trial) {
	tr.commit(ctx, named("a", "b")...)
	s := tr.placed(ctx)
	fail.If(s.Seek(ctx, nil), "seek without a position where nothing was read")
	begin := s.at(driver.Page{}, 0)
	s = tr.crashed(ctx, s)
	fail.In("to the beginning", func() { s.seek(ctx, begin) })
	s.reader.expectDrain(ctx, 10, "a", "b")
}

// seekOfALostLease: a session knows the state at the moment when it acquired its lease. If
// another one has led since, the sink has got further, and the database has lost nothing.
func seekOfALostLease(ctx context.Context, tr *trial) {
	lost := tr.placed(ctx)
	next := tr.crashed(ctx, lost)
	tr.commit(ctx, keyed("k", "a", "b")...)
	p := next.reader.expectPage(ctx, 10, "a", "b")
	end := next.at(p, 2)
	next.reader.settle(ctx, p, 2)
	if err := lost.Seek(ctx, end); !errors.Is(err, driver.ErrLeaseLost) {
		fail.With("seek after another one has led: %v, want %w", err, driver.ErrLeaseLost)
	}
}

// slotNamesDiffer by group and slot, and end in the slot's number.
func slotNamesDiffer(ctx context.Context, tr *trial) {
	slots := 3
	if tr.features.NoSlots {
		slots = 1
	}
	seen := make(map[string]bool)
	for _, group := range []string{"a", "b"} {
		src := tr.group(GroupConfig{Name: group, Slots: slots, Positions: true})
		var held []*reader // keeps the sessions reachable: the connections of unreachable ones are closed
		for range slots {
			r := acquireFrom(ctx, src)
			held = append(held, r)
			s := asPlaced(r)
			number := 0
			if slots > 1 {
				number = slotOf(r)
			}
			name := s.SlotName()
			if seen[name] || !strings.HasSuffix(name, fmt.Sprintf("/%d", number)) {
				fail.With("slot name %q of slot %d of group %q: twice, or without its number", name, number, group)
			}
			seen[name] = true
		}
		releaseAll(ctx, held)
	}
}

// refuse expects the position to be refused, because fact has changed if it is not nil.
func (tr *trial) refuse(ctx context.Context, s *placed, what string, position []byte, fact *basis.FactError) {
	tr.expectMoved("seek to "+what, s.Seek(ctx, position), fact)
}

// three commits three records and returns the positions behind the first and the second,
// which are settled.
func (tr *trial) three(ctx context.Context, s *placed) (first, second []byte) {
	tr.commit(ctx, keyed("k", numbered("m", 3)...)...)
	p := s.reader.expectPage(ctx, 10, numbered("m", 3)...)
	first, second = s.at(p, 1), s.at(p, 2)
	s.reader.settle(ctx, p, 2)
	return first, second
}

// seekRefusesWhatIsBehind has the sink return with less than was settled: it has lost records.
func seekRefusesWhatIsBehind(ctx context.Context, tr *trial) {
	s := tr.placed(ctx)
	first, second := tr.three(ctx, s)
	s = tr.released(ctx, s)
	tr.refuse(ctx, s, "one of two settled records", first, basis.ErrSinkWentBack)
	tr.refuse(ctx, s, "no position, of a slot that has settled two records", nil, basis.ErrSinkWentBack)
	fail.In("to what is settled", func() { s.seek(ctx, second) })
	s.reader.expectDrain(ctx, 10, "m-3")
}

// seekRefusesOtherPositions tries values that are not positions, and positions of another group,
// slot and outbox.
func seekRefusesOtherPositions(ctx context.Context, tr *trial) {
	s := tr.placed(ctx)
	_, second := tr.three(ctx, s)
	foreign := map[string][]byte{
		"an empty position": {}, "text": []byte("x"), "half a position": second[:len(second)/2],
	}
	slots := 1
	if !tr.features.NoSlots {
		slots = 2
	}
	for what, cfg := range map[string]GroupConfig{
		"the position of another group":        {Name: "other", Positions: true},
		"the position of another group's slot": {Name: "slots", Slots: slots, Positions: true},
	} {
		foreign[what] = tr.lastPosition(ctx, cfg)
	}
	if n, ok := tr.Subject.(Neighbor); ok {
		another, err := n.Another(ctx)
		fail.If(err, "another outbox")
		there := &trial{Subject: another, features: tr.features}
		defer there.end()
		elsewhere := there.placed(ctx)
		_, foreign["the position of another outbox"] = there.three(ctx, elsewhere)
	}
	s = tr.released(ctx, s)
	for what, position := range foreign {
		tr.refuse(ctx, s, what, position, nil)
	}
	fail.In("to what is settled", func() { s.seek(ctx, second) })
	s.reader.expectDrain(ctx, 10, "m-3")
}

// lastPosition returns where the group's last slot begins.
func (tr *trial) lastPosition(ctx context.Context, cfg GroupConfig) []byte {
	src := tr.group(cfg)
	var last *placed
	for range max(cfg.Slots, 1) {
		last = asPlaced(acquireFrom(ctx, src))
	}
	return last.at(driver.Page{}, 0)
}

// seekRefusesWhatWasLost moves the outbox back to a position before the sink's. The outbox no longer knows
// what was sent after it, and must refuse the sink's position, however much is committed later.
func seekRefusesWhatWasLost(ctx context.Context, tr *trial) {
	loser, ok := tr.Subject.(PositionLoser)
	if !ok {
		return
	}
	s := tr.placed(ctx)
	_, second := tr.three(ctx, s)
	fail.If(s.reader.Release(ctx))
	fail.If(loser.LosePositions(ctx), "lose positions")
	s = tr.placed(ctx)
	for range 3 {
		tr.commit(ctx, keyed("k", "since")...)
		tr.refuse(ctx, s, "a position that the outbox has lost", second, basis.ErrBehindSink)
		s = tr.crashed(ctx, s)
	}
}

var errNoPositioned = errors.New("the session is not a driver.Positioned; say Features.NoPositions")

// placed is a session whose position a sink stores.
type placed struct {
	driver.Positioned

	reader *reader
}

func asPlaced(r *reader) *placed {
	p, ok := r.Session.(driver.Positioned)
	if !ok {
		fail.Now(errNoPositioned)
	}
	return &placed{p, r}
}

// placed starts a session of testGroup.
func (tr *trial) placed(ctx context.Context) *placed {
	return asPlaced(tr.acquireGroup(ctx, GroupConfig{Positions: true}))
}

// crashed waits until the lease of old has expired and starts a session in its place.
func (tr *trial) crashed(ctx context.Context, old *placed) *placed {
	src := tr.group(GroupConfig{Positions: true})
	return asPlaced(takeOverFrom(ctx, src, old.reader))
}

// released releases the lease of old and starts a session in its place.
func (tr *trial) released(ctx context.Context, old *placed) *placed {
	fail.If(old.reader.Release(ctx), "release")
	return tr.placed(ctx)
}

// at returns the position after the first n records of p.
func (s *placed) at(p driver.Page, n int) []byte {
	position, err := s.Position(p, n)
	switch {
	case err != nil:
		fail.With("position at %d of %d: %w", n, len(p.Records), err)
	case position == nil:
		fail.With("position: nil, which is what a sink has that was never given one")
	}
	return slices.Clone(position)
}

// seek moves the session to position, twice.
func (s *placed) seek(ctx context.Context, position []byte) {
	for range 2 {
		fail.If(s.Seek(ctx, position), "seek")
	}
}
