package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var (
	errNoGrouper = errors.New("the subject is no Grouper; say Features.NoSlots, NoStarts, NoTopics and NoPositions")
	errNoSlotted = errors.New("the session is no driver.Slotted; say Features.NoSlots")
	errNoSharded = errors.New("the source is no driver.Sharded; say Features.NoSlots")
)

// group returns a source of the group, which is testGroup unless cfg names another.
func (tr *trial) group(cfg GroupConfig) (driver.Source, error) {
	g, ok := tr.Subject.(Grouper)
	if !ok {
		return nil, errNoGrouper
	}
	if cfg.Name == "" {
		cfg.Name = testGroup
	}
	src, err := g.Group(cfg)
	if err != nil {
		return nil, fmt.Errorf("group %+v: %w", cfg, err)
	}
	return src, nil
}

// acquireGroup starts a session of the only slot of the group.
func (tr *trial) acquireGroup(ctx context.Context, cfg GroupConfig) (*reader, error) {
	src, err := tr.group(cfg)
	if err != nil {
		return nil, err
	}
	return acquireFrom(ctx, src)
}

// slots starts the sessions of all slots of the group and returns them by number.
func (tr *trial) slots(ctx context.Context, cfg GroupConfig) (driver.Source, []*reader, error) {
	src, err := tr.group(cfg)
	if err != nil {
		return nil, nil, err
	}
	readers, err := acquireSlots(ctx, src, cfg.Slots)
	return src, readers, err
}

// acquireSlots starts a session of each slot.
func acquireSlots(ctx context.Context, src driver.Source, slots int) ([]*reader, error) {
	all := make([]*reader, slots)
	for range all {
		r, err := acquireFrom(ctx, src)
		if err != nil {
			return nil, err
		}
		at, err := slotOf(r)
		switch {
		case err != nil:
			return nil, err
		case at < 0 || at >= slots:
			return nil, fmt.Errorf("acquire: slot %d of %d", at, slots)
		case all[at] != nil:
			return nil, fmt.Errorf("acquire: two hold the lease of slot %d", at)
		}
		all[at] = r
	}
	if _, err := src.Acquire(ctx, longTTL); !errors.Is(err, driver.ErrLeaseHeld) {
		return nil, unexpected("acquire when all slots are held", err, driver.ErrLeaseHeld)
	}
	return all, nil
}

func slotOf(r *reader) (int, error) {
	s, ok := r.Session.(driver.Slotted)
	if !ok {
		return 0, errNoSlotted
	}
	return s.Slot(), nil
}

func releaseAll(ctx context.Context, readers []*reader) error {
	for i, r := range readers {
		if err := r.Release(ctx); err != nil {
			return fmt.Errorf("release of slot %d: %w", i, err)
		}
	}
	return nil
}

// drainSlots drains every slot, one after another, and returns what each has read.
func drainSlots(ctx context.Context, readers []*reader, limit int) ([][]outbox.Record, error) {
	all := make([][]outbox.Record, len(readers))
	for i, r := range readers {
		var err error
		if all[i], err = r.drain(ctx, limit); err != nil {
			return all, fmt.Errorf("slot %d: %w", i, err)
		}
	}
	return all, nil
}

// keysOfSlots writes records of many keys, drains them, and returns a key of each slot.
func (tr *trial) keysOfSlots(ctx context.Context, readers []*reader) ([]string, error) {
	const most = 64
	for i := range most {
		key := fmt.Sprintf("key%d", i)
		if err := tr.commit(ctx, keyed(key, "of "+key)...); err != nil {
			return nil, err
		}
	}
	read, err := drainSlots(ctx, readers, 20)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(readers))
	for i := range read {
		if len(read[i]) == 0 {
			return nil, fmt.Errorf("slot %d of %d has none of %d keys", i, len(readers), most)
		}
		keys[i] = strings.Clone(read[i][0].Key)
	}
	return keys, nil
}
