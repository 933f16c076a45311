package memoutbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// Aside is a record that a relay has set aside.
type Aside struct {
	outbox.Record

	// Waits says that it follows an earlier record of its key.
	Waits bool
	// Attempts is the number of deliveries that have failed since it was held or
	// redriven.
	Attempts int
	// Errors are those of all deliveries that have failed.
	Errors []string
	// Reason says why it was parked or given up.
	Reason string
}

// Parked returns the records of group that are parked, and those that wait
// behind a parked one of their key, ascending in Seq.
func (ob *Outbox) Parked(ctx context.Context, group string) ([]Aside, error) {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	a := ob.asides(group)
	var found []Aside
	for _, h := range a.held {
		first := h
		if h.state == wait {
			first = a.head(keyOf(&h.Record))
		}
		if first.state == parked {
			found = append(found, h.aside())
		}
	}
	return found, ctx.Err()
}

// Dead returns the records of group that were set aside for good, in the order
// in which they were.
func (ob *Outbox) Dead(ctx context.Context, group string) ([]Aside, error) {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	var found []Aside
	for _, h := range ob.asides(group).dead {
		found = append(found, h.aside())
	}
	return found, ctx.Err()
}

// Skipped returns the ids of the records of group that relays have skipped.
func (ob *Outbox) Skipped(ctx context.Context, group string) ([]string, error) {
	ob.mu.Lock()
	defer ob.mu.Unlock()
	return slices.Clone(ob.asides(group).skipped), ctx.Err()
}

// Redrive makes the first record of key due again, which must be parked, else
// it returns admin.ErrNotParked; those behind it follow.
func (ob *Outbox) Redrive(ctx context.Context, group string, key driver.Key) error {
	return ob.onParked(ctx, group, key, func(_ *asides, h *held) { h.redrive() })
}

// RedriveID makes one parked record due again, by its id. It returns
// admin.ErrNotParked where there is none.
func (ob *Outbox) RedriveID(ctx context.Context, group, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ob.mu.Lock()
	defer ob.mu.Unlock()
	for _, h := range ob.asides(group).held {
		if h.ID == id && h.state == parked {
			h.redrive()
			return nil
		}
	}
	return fmt.Errorf("%w: record %.200q of group %q", admin.ErrNotParked, id, group)
}

// SkipHead drops the first record of key, which must be parked, else it returns
// admin.ErrNotParked; the next one is due.
func (ob *Outbox) SkipHead(ctx context.Context, group string, key driver.Key) error {
	return ob.onParked(ctx, group, key, func(a *asides, h *held) {
		a.remove(h)
		a.follow(key, time.Now())
	})
}

// Drop drops all held records of key, the first of which must be parked, else it
// returns admin.ErrNotParked.
func (ob *Outbox) Drop(ctx context.Context, group string, key driver.Key) error {
	return ob.onParked(ctx, group, key, func(a *asides, _ *held) {
		a.held = slices.DeleteFunc(a.held, func(h *held) bool { return keyOf(&h.Record) == key })
	})
}

// onParked calls do with the first record of key, if it is parked.
func (ob *Outbox) onParked(ctx context.Context, group string, key driver.Key, do func(a *asides, h *held)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ob.mu.Lock()
	defer ob.mu.Unlock()
	a := ob.asides(group)
	h := a.head(key)
	if h == nil || h.state != parked {
		return fmt.Errorf("%w: key %.200q of topic %.200q in group %q", admin.ErrNotParked, key.Key, key.Topic, group)
	}
	do(a, h)
	return nil
}

func (h *held) redrive() {
	h.state, h.next, h.attempts = retry, time.Now(), 0
}

func (h *held) aside() Aside {
	r := h.Record
	r.Message = clone(&h.Message)
	return Aside{Record: r, Waits: h.state == wait, Attempts: h.attempts, Errors: slices.Clone(h.errors), Reason: h.reason}
}
