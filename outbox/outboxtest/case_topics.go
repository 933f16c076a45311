package outboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox"
)

func topicChecks() []Check {
	return unless(func(f Features) bool { return f.NoTopics },
		Check{Name: "O2_GroupReadsItsTopics", run: groupReadsItsTopics},
		Check{
			Name: "O2_SlotReadsItsTopics", run: slotReadsItsTopics,
			skip: func(f Features) bool { return f.NoSlots },
		},
		Check{Name: "O12_PositionPassesOtherTopics", run: positionPassesOtherTopics},
		Check{Name: "O12_TopicsChangeFromWhereTheGroupStands", run: topicsChangeWhereTheGroupStands},
	)
}

// groupReadsItsTopics reads through patterns with every character that one could take for
// a wildcard, also what commits late.
func groupReadsItsTopics(ctx context.Context, tr *trial) error {
	orders, err := tr.acquireGroup(ctx, GroupConfig{Name: "orders", Topics: []string{"orders.*", `100%_\*`}})
	if err != nil {
		return err
	}
	both, err := tr.acquireGroup(ctx, GroupConfig{Name: "both", Topics: []string{"orders.*", "bills"}})
	if err != nil {
		return err
	}
	all, err := tr.acquireGroup(ctx, GroupConfig{Name: "all"})
	if err != nil {
		return err
	}
	everything := []string{"orders.eu", "bills", `100%_\`, "100xx", "orders", "orders.us", "Orders.eu"}
	for range 3 {
		commitLate, err := tr.openLate(ctx, about("orders.late", "bills")...)
		if err != nil {
			return err
		}
		err = errors.Join(
			tr.commit(ctx, about(everything...)...),
			orders.expectDrain(ctx, 1, "orders.eu", `100%_\`, "orders.us"),
			both.expectDrain(ctx, 2, "orders.eu", "bills", "orders.us"),
			all.expectDrain(ctx, 10, everything...),
			commitLate(ctx),
		)
		if err != nil {
			return err
		}
		err = errors.Join(
			orders.expectDrain(ctx, 1, "orders.late"),
			both.expectDrain(ctx, 1, "orders.late", "bills"),
			all.expectDrain(ctx, 10, "orders.late", "bills"),
		)
		if err != nil {
			return fmt.Errorf("what has committed late: %w", err)
		}
	}
	return releaseAll(ctx, []*reader{orders, both, all})
}

// slotReadsItsTopics has both filters at once.
func slotReadsItsTopics(ctx context.Context, tr *trial) error {
	_, readers, err := tr.slots(ctx, GroupConfig{Name: "plain", Slots: 2})
	if err != nil {
		return err
	}
	keys, err := tr.keysOfSlots(ctx, readers)
	if err != nil {
		return err
	}
	_, readers, err = tr.slots(ctx, GroupConfig{Name: "filtered", Slots: 2, Topics: []string{"a*"}})
	if err != nil {
		return err
	}
	for _, topic := range []string{"a1", "b", "a2"} {
		for slot, key := range keys {
			m := outbox.Message{Topic: topic, Key: key, Payload: fmt.Appendf(nil, "%s in slot %d", topic, slot)}
			if err := tr.commit(ctx, m); err != nil {
				return err
			}
		}
	}
	for slot, r := range readers {
		if err := r.expectDrain(ctx, 1, fmt.Sprintf("a1 in slot %d", slot), fmt.Sprintf("a2 in slot %d", slot)); err != nil {
			return fmt.Errorf("slot %d: %w", slot, err)
		}
	}
	return releaseAll(ctx, readers)
}

// positionPassesOtherTopics gives a group nothing of its own for a while. What its position
// has passed is not read when the group reads all topics later; the last of it may be, since
// a position may end with what was read.
func positionPassesOtherTopics(ctx context.Context, tr *trial) error {
	const rounds = 4
	r, err := tr.acquireGroup(ctx, GroupConfig{Name: "mine", Topics: []string{"mine"}})
	if err != nil {
		return err
	}
	for i := range rounds {
		if err := tr.commit(ctx, about(fmt.Sprintf("other-%d", i+1))...); err != nil {
			return err
		}
		if err := r.expectDrain(ctx, 10); err != nil {
			return fmt.Errorf("a record of another topic: %w", err)
		}
	}
	if err := r.Release(ctx); err != nil {
		return err
	}
	if err := tr.commit(ctx, about("mine", "new")...); err != nil {
		return err
	}
	got, err := tr.drainGroup(ctx, GroupConfig{Name: "mine"})
	if err != nil {
		return err
	}
	want := []string{"mine", "new"}
	if len(got) > len(want) {
		want = append([]string{fmt.Sprintf("other-%d", rounds)}, want...)
	}
	if err := expect(got, want...); err != nil {
		return fmt.Errorf("after %d records of other topics were passed: %w", rounds, err)
	}
	return nil
}

// topicsChangeWhereTheGroupStands adds a topic to a group, and takes one away.
func topicsChangeWhereTheGroupStands(ctx context.Context, tr *trial) error {
	a, both, b := GroupConfig{Name: "g", Topics: []string{"a"}}, GroupConfig{Name: "g", Topics: []string{"a", "b*"}},
		GroupConfig{Name: "g", Topics: []string{"b*"}}
	for _, step := range []struct {
		what   string
		cfg    GroupConfig
		commit []string
		want   []string
	}{
		{"of topic a", a, []string{"b1", "a", "b2"}, []string{"a"}},
		{"of topic a", a, []string{"a"}, []string{"a"}},
		{"after b was added", both, []string{"b3", "a", "c"}, []string{"b3", "a"}},
		{"after b was added", both, []string{"b4"}, []string{"b4"}},
		{"after a was taken away", b, []string{"a", "b5", "c"}, []string{"b5"}},
		{"after a was added again", both, []string{"b6", "a"}, []string{"b6", "a"}},
	} {
		if err := tr.commit(ctx, about(step.commit...)...); err != nil {
			return err
		}
		got, err := tr.drainGroup(ctx, step.cfg)
		if err != nil {
			return err
		}
		if err := expect(got, step.want...); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// drainGroup reads everything that the group has not settled yet, in a session of its own.
func (tr *trial) drainGroup(ctx context.Context, cfg GroupConfig) ([]outbox.Record, error) {
	r, err := tr.acquireGroup(ctx, cfg)
	if err != nil {
		return nil, err
	}
	got, err := r.drain(ctx, 10)
	if err != nil {
		return nil, err
	}
	return got, r.Release(ctx)
}
