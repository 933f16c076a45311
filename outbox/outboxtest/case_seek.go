package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	)
}

func noPositions(f Features) bool { return f.NoPositions }

// seekGoesToTheSinksPosition delivers one record a session, with its position, and crashes
// before the session stores anything.
func seekGoesToTheSinksPosition(ctx context.Context, tr *trial) error {
	commitLate, err := tr.openLate(ctx, keyed("late", numbered("late", 2)...)...)
	if err != nil {
		return err
	}
	s, err := tr.placed(ctx)
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, keyed("k", "settled")...); err != nil {
		return err
	}
	if err := s.reader.expectDrain(ctx, 10, "settled"); err != nil {
		return err
	}
	if err := errors.Join(tr.commit(ctx, keyed("k", numbered("m", 4)...)...), commitLate(ctx)); err != nil {
		return err
	}
	want := append(numbered("late", 2), numbered("m", 4)...)
	var got []outbox.Record
	for range want {
		p, err := s.reader.page(ctx, 3)
		if err != nil {
			return err
		}
		if len(p.Records) == 0 {
			break
		}
		position, err := s.at(p, 1)
		if err != nil {
			return err
		}
		first := p.Records[0]
		first.Payload = slices.Clone(first.Payload)
		got = append(got, first)
		if s, err = tr.crashed(ctx, s); err != nil {
			return err
		}
		if err := s.seek(ctx, position); err != nil {
			return fmt.Errorf("to behind %s: %w", describe(got), err)
		}
	}
	if err := expectSet(got, want); err != nil {
		return err
	}
	if err := s.reader.expectDrain(ctx, 10); err != nil {
		return err
	}
	return expectOrder(got)
}

// seekWhereNothingWas has the session come further than the sink, through windows in which
// it had nothing to send.
func seekWhereNothingWas(ctx context.Context, tr *trial) error {
	s, err := tr.placed(ctx)
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, keyed("k", "a", "b")...); err != nil {
		return err
	}
	p, err := s.reader.expectPage(ctx, 10, "a", "b")
	if err != nil {
		return err
	}
	end, err := s.at(p, 2)
	if err != nil {
		return err
	}
	if err := s.reader.settle(ctx, p, 2); err != nil {
		return err
	}
	for range 4 {
		if err := tr.finish(ctx, false, keyed("k", "rolled back")...); err != nil {
			return err
		}
		if err := s.reader.expectDrain(ctx, 10); err != nil {
			return err
		}
	}
	if s, err = tr.released(ctx, s); err != nil {
		return err
	}
	if err := s.seek(ctx, end); err != nil {
		return fmt.Errorf("to the last record, since when nothing was committed: %w", err)
	}
	if err := tr.commit(ctx, keyed("k", "c")...); err != nil {
		return err
	}
	return s.reader.expectDrain(ctx, 10, "c")
}

// seekAfterTheSlotsHaveChanged seeks with positions of before the change, at which each
// slot had settled all that it had.
func seekAfterTheSlotsHaveChanged(ctx context.Context, tr *trial) error {
	s, err := tr.placed(ctx)
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, keyed("k", "a", "b")...); err != nil {
		return err
	}
	p, err := s.reader.expectPage(ctx, 10, "a", "b")
	if err != nil {
		return err
	}
	end, err := s.at(p, 2)
	if err != nil {
		return err
	}
	if err := s.reader.settle(ctx, p, 2); err != nil {
		return err
	}
	f := tr.fleet(1)
	f.positions = true
	f.readers[0] = s.reader
	if err := f.change(ctx, 3); err != nil {
		return err
	}
	if s, err = asPlaced(f.readers[0]); err != nil {
		return err
	}
	if err := s.seek(ctx, end); err != nil {
		return fmt.Errorf("to the last record before the change: %w", err)
	}
	if err := tr.commit(ctx, keyed("k", "c")...); err != nil {
		return err
	}
	for len(f.got) == 0 {
		if _, err := f.round(ctx); err != nil {
			return err
		}
	}
	return expect(f.got, "c")
}

// seekBeforeTheFirstRecord goes to the position at which a session begins, which is what a
// sink gets before anything is read, and with none to where nothing was settled.
func seekBeforeTheFirstRecord(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, named("a", "b")...); err != nil {
		return err
	}
	s, err := tr.placed(ctx)
	if err != nil {
		return err
	}
	if err := s.Seek(ctx, nil); err != nil {
		return fmt.Errorf("seek without a position where nothing was read: %w", err)
	}
	begin, err := s.at(driver.Page{}, 0)
	if err != nil {
		return err
	}
	if s, err = tr.crashed(ctx, s); err != nil {
		return err
	}
	if err := s.seek(ctx, begin); err != nil {
		return fmt.Errorf("to the beginning: %w", err)
	}
	return s.reader.expectDrain(ctx, 10, "a", "b")
}

// slotNamesDiffer by group and slot, and end in the slot's number.
func slotNamesDiffer(ctx context.Context, tr *trial) error {
	slots := 3
	if tr.features.NoSlots {
		slots = 1
	}
	seen := make(map[string]bool)
	for _, group := range []string{"a", "b"} {
		src, err := tr.group(GroupConfig{Name: group, Slots: slots, Positions: true})
		if err != nil {
			return err
		}
		for range slots {
			r, err := acquireFrom(ctx, src)
			if err != nil {
				return err
			}
			s, err := asPlaced(r)
			if err != nil {
				return err
			}
			number := 0
			if slots > 1 {
				if number, err = slotOf(r); err != nil {
					return err
				}
			}
			name := s.SlotName()
			if seen[name] || !strings.HasSuffix(name, fmt.Sprintf("/%d", number)) {
				return fmt.Errorf("slot name %q of slot %d of group %q: twice, or without its number", name, number, group)
			}
			seen[name] = true
		}
	}
	return nil
}
