package outboxtest

import (
	"context"
	"errors"
	"fmt"
)

func relaySlotChecks() []Check {
	return unless(
		func(f Features) bool { return f.NoSlots },
		Check{Name: "Relay_O5_RelaysShareSlots", run: relaysShareSlots(3)},
		Check{
			Name: "Relay_O5_RelaysChangeSlots", run: relaysShareSlots(3, 4, 1),
			skip: func(f Features) bool { return f.FixedSlots },
		},
	)
}

// relaysShareSlots runs two relays as users do: they share the slots, change their number
// when they are replaced one after the other, and leave nothing behind. Nothing fails, so
// each record is sent once.
func relaysShareSlots(counts ...int) func(context.Context, *trial) error {
	return func(ctx context.Context, tr *trial) error {
		const keys = 11
		broker := NewBroker()
		written := make(map[int]int)
		var want []string
		write := func() error {
			for k := range keys {
				written[k]++
				name := fmt.Sprintf("key%d-%d", k, written[k])
				if err := tr.commit(ctx, keyed(fmt.Sprintf("key%d", k), name)...); err != nil {
					return err
				}
				want = append(want, name)
			}
			tr.Wake()
			return nil
		}
		runs := make([]*running, 2)
		for _, slots := range counts {
			for i := range runs {
				if err := errors.Join(tr.replace(ctx, runs, i, slots, broker), write()); err != nil {
					return err
				}
			}
			if err := errors.Join(awaitSlots(ctx, runs, slots), write()); err != nil {
				return fmt.Errorf("%d slots: %w", slots, err)
			}
			if _, err := broker.AwaitDistinct(ctx, len(want)); err != nil {
				return errors.Join(fmt.Errorf("%d slots: %w", slots, err), expectSet(broker.Log(), want))
			}
		}
		for _, run := range runs {
			if err := run.stop(); err != nil {
				return err
			}
		}
		if err := tr.expectGroup(ctx, GroupConfig{Slots: counts[len(counts)-1]}); err != nil {
			return fmt.Errorf("after both have stopped: %w", err)
		}
		log := broker.Log()
		return errors.Join(expectSet(log, want), tr.expectNumbered(log))
	}
}

// replace stops relay i, if it runs, and starts another one that wants so many slots.
func (tr *trial) replace(ctx context.Context, runs []*running, i, slots int, broker *Broker) error {
	if runs[i] != nil {
		if err := runs[i].stop(); err != nil {
			return err
		}
	}
	src, err := tr.group(GroupConfig{Slots: slots})
	if err != nil {
		return err
	}
	runs[i], err = tr.start(ctx, src, broker.Sink(), shortLease())
	return err
}

// awaitSlots waits until the relays lead all slots, and none more than its share.
func awaitSlots(ctx context.Context, runs []*running, slots int) error {
	fair := (slots + len(runs) - 1) / len(runs)
	for {
		var led []int
		total, most := 0, 0
		for _, run := range runs {
			n := len(run.relay.State().Slots)
			led = append(led, n)
			total, most = total+n, max(most, n)
		}
		if total == slots && most <= fair {
			return nil
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("the relays lead %v of %d slots: %w", led, slots, err)
		}
	}
}
