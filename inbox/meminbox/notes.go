package meminbox

import (
	"context"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/outbox"
)

var _ driver.Keeper = claims{}

// Keep implements driver.Keeper.
func (c claims) Keep(ctx context.Context, id string, n driver.Note) error {
	if !OnCommit(ctx, func() {
		if c.store.notes == nil {
			c.store.notes = map[row]driver.Note{}
		}
		c.store.notes[newRow(c.consumer, id)] = n
	}) {
		return outbox.ErrNotInTransaction
	}
	return nil
}

// Kept implements driver.Keeper.
func (c claims) Kept(_ context.Context, id string) (driver.Note, bool, error) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	n, ok := c.store.notes[newRow(c.consumer, id)]
	return n, ok, nil
}
