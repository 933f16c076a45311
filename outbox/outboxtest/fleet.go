package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// changeTTL is how long a source must want another number of slots.
const changeTTL = 300 * time.Millisecond

// pause lets others work. Its only error is that of ctx.
func pause(ctx context.Context) error {
	return wait.For(ctx, 2*time.Millisecond)
}

// fleet reads all slots of testGroup, as relays do that share them.
type fleet struct {
	tr        *trial
	slots     int
	positions bool         // a sink keeps them
	meanwhile func() error // called again and again by change
	readers   map[int]*reader
	got       []outbox.Record
}

func (tr *trial) fleet(slots int) *fleet {
	return &fleet{tr: tr, slots: slots, readers: make(map[int]*reader), meanwhile: func() error { return nil }}
}

// staff acquires whatever is free.
func (f *fleet) staff(ctx context.Context, src driver.Source) error {
	for {
		r, err := acquireFrom(ctx, src)
		if errors.Is(err, driver.ErrLeaseHeld) {
			return nil
		}
		if err != nil {
			return err
		}
		slot, err := slotOf(r)
		if err != nil {
			return err
		}
		if f.readers[slot] != nil {
			return fmt.Errorf("acquire: two hold the lease of slot %d", slot)
		}
		f.readers[slot] = r
	}
}

// round reads and settles a page of every slot, releases those that are closed, and
// returns the number of records.
func (f *fleet) round(ctx context.Context) (int, error) {
	before := len(f.got)
	for _, slot := range slices.Sorted(maps.Keys(f.readers)) {
		r := f.readers[slot]
		p, err := r.page(ctx, 7)
		switch {
		case errors.Is(err, driver.ErrSlotClosed):
			delete(f.readers, slot)
			if err := r.Release(ctx); err != nil {
				return 0, fmt.Errorf("release of closed slot %d: %w", slot, err)
			}
			continue
		case err != nil:
			return 0, fmt.Errorf("slot %d: %w", slot, err)
		case p.Waiting:
			return 0, fmt.Errorf("slot %d: %w", slot, errWaitingIdle)
		case len(p.Records) == 0:
			continue
		}
		f.got = append(f.got, p.Records...)
		if err := r.settle(ctx, p, len(p.Records)); err != nil {
			return 0, fmt.Errorf("slot %d: %w", slot, err)
		}
	}
	if len(f.got) > mostRecords {
		return 0, errNoEnd
	}
	return len(f.got) - before, nil
}

// follow reads until writers is closed and nothing is left, and passes the leases on in
// turn. It holds none in the end.
func (f *fleet) follow(ctx context.Context, writers <-chan struct{}) error {
	src, err := f.tr.group(GroupConfig{Slots: f.slots, Positions: f.positions})
	if err != nil {
		return err
	}
	for turn := 0; ; turn++ {
		if err := f.staff(ctx, src); err != nil {
			return err
		}
		finished := closed(writers) && len(f.readers) == f.slots
		n, err := f.round(ctx)
		switch {
		case err != nil:
			return err
		case n == 0 && finished:
			return f.release(ctx)
		case n == 0:
			if err := pause(ctx); err != nil {
				return err
			}
		}
		if r := f.readers[turn%f.slots]; r != nil {
			delete(f.readers, turn%f.slots)
			if err := r.Release(ctx); err != nil {
				return fmt.Errorf("release of slot %d: %w", turn%f.slots, err)
			}
		}
	}
}

func (f *fleet) release(ctx context.Context) error {
	for slot, r := range f.readers {
		delete(f.readers, slot)
		if err := r.Release(ctx); err != nil {
			return fmt.Errorf("release of slot %d: %w", slot, err)
		}
	}
	return nil
}

// change has the group changed to another number of slots, reads what comes meanwhile,
// and returns when all of the new slots are held.
func (f *fleet) change(ctx context.Context, slots int) error {
	src, err := f.tr.group(GroupConfig{Slots: slots, Positions: f.positions})
	if err != nil {
		return err
	}
	wants, ok := src.(driver.Sharded)
	if !ok {
		return errNoSharded
	}
	f.slots = slots
	for {
		if err := f.staff(ctx, src); err != nil {
			return err
		}
		share, err := wants.Share(ctx, changeTTL)
		if err != nil {
			return fmt.Errorf("share: %w", err)
		}
		if share.Slots == slots && len(f.readers) == slots {
			return wants.Leave(ctx)
		}
		if _, err := f.round(ctx); err != nil {
			return err
		}
		if err := f.meanwhile(); err != nil {
			return err
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("%d slots were asked for, the group has %d: %w", slots, share.Slots, err)
		}
	}
}
