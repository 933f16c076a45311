package driver

import (
	"context"
	"errors"
	"time"
)

// ErrSlotClosed is returned by Session.Read when the slot has ended because the number of slots
// is being changed. All pages are settled by then. Relay releases the lease and acquires anew.
var ErrSlotClosed = errors.New("leat: slot is closed, the slots are being changed")

// Share is how the slots of a source are divided among the live relays.
type Share struct {
	// Slots is the number of slots.
	Slots int
	// Fair is the number that this relay should hold at most, 1 to Slots: the slots
	// divided by the relays, rounded up.
	Fair int
	// Retry is how soon to ask again while this relay holds its fair share, if the Source notices
	// at once that another relay has died; 0 if it does not.
	Retry time.Duration
}

// Sharded is a Source that is divided into slots, each with its own lease and
// position. Acquire then takes any slot that is free, and several sessions of
// one Source run at the same time. A key belongs to one slot at any time.
type Sharded interface {
	Source

	// Share registers this relay as alive for another ttl, and returns how to share the slots.
	// Relay calls it at least three times per ttl.
	Share(ctx context.Context, ttl time.Duration) (Share, error)

	// Leave unregisters this relay, so that others need not wait for the end of its ttl.
	Leave(ctx context.Context) error
}

// Slotted is a Session that knows its slot's number, from 0.
type Slotted interface {
	Session

	Slot() int
}
