package outboxtest

import (
	"context"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Admin is implemented by a Subject whose sessions are relay.Holders: what
// an operator sees of the records that relays have set aside, and does with them. An
// adapter maps each method onto its own API, with any actor and reason.
type Admin interface {
	// Parked returns the records of group that are parked, and those that wait
	// behind a parked one of their key, ascending in Seq.
	Parked(ctx context.Context, group string) ([]Aside, error)

	// Dead returns the records of group that were set aside for good, ascending in
	// Seq.
	Dead(ctx context.Context, group string) ([]Aside, error)

	// Skipped returns the ids of the records of group that a relay has skipped, in
	// that order.
	Skipped(ctx context.Context, group string) ([]string, error)

	// Redrive makes the first record of key, which is parked, due again; those
	// behind it follow. Attempts start at 0; errors are kept.
	Redrive(ctx context.Context, group string, key driver.Key) error

	// RedriveID does the same with one parked record, by its id.
	RedriveID(ctx context.Context, group, id string) error

	// SkipHead drops the first record of key, which is parked; the next one is due.
	SkipHead(ctx context.Context, group string, key driver.Key) error

	// Drop drops all held records of key, the first of which is parked.
	Drop(ctx context.Context, group string, key driver.Key) error
}

// Aside is a record that a relay has set aside, as an operator sees it.
type Aside struct {
	outbox.Record

	// Waits says that it follows an earlier record of its key.
	Waits bool
	// Attempts is the number of deliveries that have failed since it was held or
	// redriven.
	Attempts int
	// Errors are those of all deliveries that have failed, also before a redrive.
	Errors []string
	// Reason says why it was parked or given up.
	Reason string
}
