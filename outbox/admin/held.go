package admin

import (
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox"
)

// HeldState is the state of a held record, or of the earlier record of its key that it waits for.
type HeldState string

const (
	// HeldRetrying is tried again at its time, or waits behind a record that is.
	HeldRetrying HeldState = "retrying"
	// HeldParked waits for an operator, or behind a record that does.
	HeldParked HeldState = "parked"
)

// HeldQuery selects records that were set aside. The zero value selects the first
// hundred of the default group.
type HeldQuery struct {
	// Group is the relay group that has set them aside.
	// Defaults to "default".
	Group string
	// State selects held records: HeldParked with those that wait behind a parked one of
	// their key, HeldRetrying with those that wait behind one that is tried again. Dead
	// ignores it.
	// Defaults to both.
	State HeldState
	// Topic is a pattern of topics, in which * stands for any run of characters.
	// Defaults to all topics.
	Topic string
	// Key selects the records with this key.
	// Defaults to all records.
	Key string
	// After is the Seq of the last record of the page before.
	// Defaults to the start.
	After int64
	// OmitPayload leaves payloads and headers out.
	OmitPayload bool
	// Limit bounds the records that are returned, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

func (q *HeldQuery) complete() error {
	var err error
	if q.Limit, err = limitOr(q.Limit, 100, 10_000); err != nil {
		return err
	}
	if q.State != "" && q.State != HeldParked && q.State != HeldRetrying {
		return fmt.Errorf("%w: State = %.200q: must be %q or %q", ErrInvalidRequest, q.State, HeldParked, HeldRetrying)
	}
	q.Group, err = complete(q.Group, map[string]string{"Topic": q.Topic, "Key": q.Key})
	return err
}

// HeldRecord is a record that a relay has set aside: one that waits for an operator, or
// one that was given up.
type HeldRecord struct {
	outbox.Record

	// Group is the relay group that has set it aside.
	Group string
	// State is empty for a record that was given up.
	State HeldState
	// Waits is set if it follows an earlier record of its key that is held.
	Waits bool
	// Attempts is the number of deliveries that have failed since it was held or
	// redriven; 0 for one that was given up.
	Attempts int
	// Errors are the newest hundred errors of its deliveries, the oldest first, also
	// those before a redrive.
	Errors []Failure
	// Reason is the reason why it was parked or given up.
	Reason string
	// Since is when it was set aside first, or given up, by the database's clock.
	Since time.Time
}

// Failure is one failed delivery of a record.
type Failure struct {
	// At is the clock of the relay.
	At time.Time
	// Kind is the sink's classification, as outbox.FailureKind.String has it.
	Kind string
	// Error is the text of the error, at most 2,000 bytes.
	Error string
	// Epoch is the epoch of the relay's lease.
	Epoch int64
}
