package outboxtest

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox"
)

func startChecks() []Check {
	return unless(func(f Features) bool { return f.NoStarts },
		Check{Name: "O2_StartIsWhereItSays", run: startIsWhereItSays(1)},
		Check{
			Name: "O2_StartOfEverySlot", run: startIsWhereItSays(4),
			skip: func(f Features) bool { return f.NoSlots },
		},
		Check{Name: "O12_StartIsForNewGroups", run: startIsForNewGroups},
	)
}

// begun is a new group, and what it reads of the records that were committed before it
// began.
type begun struct {
	cfg  GroupConfig
	want []string
}

// startIsWhereItSays begins groups at the oldest record, now and at times. What had not
// committed when a group began lies ahead of it in any case.
func startIsWhereItSays(slots int) func(context.Context, *trial) error {
	return func(ctx context.Context, tr *trial) error {
		if err := tr.commit(ctx, keyed("k", "old")...); err != nil {
			return err
		}
		commitSlow, err := tr.openLate(ctx, keyed("slow", "slow")...)
		if err != nil {
			return err
		}
		at, err := tr.commitLater(ctx, keyed("k", "new")...)
		if err != nil {
			return err
		}
		groups := []begun{
			{GroupConfig{Name: "now", Slots: slots, Start: Start{Now: true}}, nil},
			{GroupConfig{Name: "ahead", Slots: slots, Start: Start{Time: at.Add(time.Hour)}}, nil},
			{GroupConfig{Name: "oldest", Slots: slots}, []string{"old", "new"}},
			{GroupConfig{Name: "at", Slots: slots, Start: Start{Time: at}}, []string{"new"}},
		}
		if tr.features.NoHistory {
			groups = groups[:2] // the group that told the time has settled what the others would read
		}
		for _, g := range groups {
			if err := tr.expectGroup(ctx, g.cfg, g.want...); err != nil {
				return fmt.Errorf("new group %q: %w", g.cfg.Name, err)
			}
		}
		if err := commitSlow(ctx); err != nil {
			return err
		}
		for _, g := range groups {
			if err := tr.expectGroup(ctx, g.cfg, "slow"); err != nil {
				return fmt.Errorf("group %q, what committed after it began: %w", g.cfg.Name, err)
			}
		}
		return nil
	}
}

// commitLater commits msgs when the clock has moved on, and returns the time at which the
// first of them was enqueued.
func (tr *trial) commitLater(ctx context.Context, msgs ...outbox.Message) (time.Time, error) {
	r, err := acquireFrom(ctx, tr.Source("clock"))
	if err != nil {
		return time.Time{}, err
	}
	before, err := r.drain(ctx, 10)
	if err != nil {
		return time.Time{}, err
	}
	if err := pause(ctx); err != nil {
		return time.Time{}, err
	}
	if err := tr.commit(ctx, msgs...); err != nil {
		return time.Time{}, err
	}
	after, err := r.drain(ctx, 10)
	switch {
	case err != nil:
		return time.Time{}, err
	case len(before) == 0 || len(after) == 0:
		return time.Time{}, fmt.Errorf("read: %s and %s, want records in both", describe(before), describe(after))
	case !after[0].CreatedAt.After(before[len(before)-1].CreatedAt):
		return time.Time{}, fmt.Errorf("records that were committed one after another have times %s and %s",
			before[len(before)-1].CreatedAt, after[0].CreatedAt)
	}
	return after[0].CreatedAt, r.Release(ctx)
}

// expectGroup reads all slots of a group to their ends and expects exactly these records.
func (tr *trial) expectGroup(ctx context.Context, cfg GroupConfig, names ...string) error {
	src, err := tr.group(cfg)
	if err != nil {
		return err
	}
	var got []outbox.Record
	var readers []*reader
	for range max(cfg.Slots, 1) {
		r, err := acquireFrom(ctx, src)
		if err != nil {
			return err
		}
		records, err := r.drain(ctx, 1)
		if err != nil {
			return err
		}
		got, readers = append(got, records...), append(readers, r)
	}
	if err := releaseAll(ctx, readers); err != nil {
		return err
	}
	return expect(got, names...)
}

// startIsForNewGroups states another start for a group that has read.
func startIsForNewGroups(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, keyed("k", numbered("m", 3)...)...); err != nil {
		return err
	}
	r, err := tr.acquireGroup(ctx, GroupConfig{Name: "old"})
	if err != nil {
		return err
	}
	p, err := r.expectPage(ctx, 3, numbered("m", 3)...)
	if err != nil {
		return err
	}
	if err := r.settle(ctx, p, 2); err != nil {
		return err
	}
	if err := r.Release(ctx); err != nil {
		return err
	}
	if err := tr.expectGroup(ctx, GroupConfig{Name: "old", Start: Start{Now: true}}, "m-3"); err != nil {
		return fmt.Errorf("a group that has read two of three, told to begin now: %w", err)
	}
	return tr.expectGroup(ctx, GroupConfig{Name: "old"})
}
