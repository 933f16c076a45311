package pgoutbox

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox/internal/pgheld"
	"github.com/leat-go/leat/outbox"
)

// ParkedQuery selects parked records.
type ParkedQuery struct {
	// Group is the relay group that has parked them.
	// Defaults to "default".
	Group string
	// Topic is a pattern of topics, in which * stands for any run of characters.
	// Defaults to all topics.
	Topic string
	// Key selects the records with this key.
	// Defaults to all records.
	Key string
	// After is the Seq of the last record of the page before.
	// Defaults to the start.
	After int64
	// Limit bounds the records that are returned, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

// DeadQuery selects dead records.
type DeadQuery ParkedQuery

// ParkedRecord is a record that waits for people.
type ParkedRecord struct {
	outbox.Record

	// Waits says that the record itself has not failed: it follows a parked one of
	// its key.
	Waits bool
	// Attempts is the number of deliveries that have failed since it was held or
	// redriven.
	Attempts int
	// Errors are the newest hundred errors of its deliveries, also before a redrive.
	Errors []DeliveryFailure
	// Reason says why it was parked.
	Reason string
	// HeldAt is when it was set aside first, by the database's clock.
	HeldAt time.Time
}

// DeadRecord is a record that was given up.
type DeadRecord struct {
	outbox.Record

	// Errors are the errors of its deliveries, the oldest first.
	Errors []DeliveryFailure
	// Reason says why it was given up.
	Reason string
	// DiedAt is when it was given up, by the database's clock.
	DiedAt time.Time
}

// DeliveryFailure is one failed delivery of a record.
type DeliveryFailure struct {
	// At is the clock of the relay.
	At time.Time
	// Kind is the sink's classification, as outbox.FailureKind.String has it.
	Kind string
	// Error is the text of the error, at most 2,000 bytes.
	Error string
	// Epoch is that of the relay's lease.
	Epoch int64
}

// Parked returns parked records and those that wait behind them, ascending in Seq.
func (o *Outbox) Parked(ctx context.Context, q ParkedQuery) ([]ParkedRecord, error) {
	query, err := q.query()
	if err != nil {
		return nil, err
	}
	listed, err := o.held.Parked(ctx, o.pool, query)
	all := make([]ParkedRecord, len(listed))
	for i := range listed {
		l := &listed[i]
		all[i] = ParkedRecord{
			Record: recordOf(&l.Row), Waits: l.Waits, Attempts: l.Attempts,
			Errors: failures(l.Errors), Reason: l.Reason, HeldAt: l.Since.In(time.UTC),
		}
	}
	return all, describe(err)
}

// Dead returns dead records, ascending in Seq.
func (o *Outbox) Dead(ctx context.Context, q DeadQuery) ([]DeadRecord, error) {
	query, err := ParkedQuery(q).query()
	if err != nil {
		return nil, err
	}
	listed, err := o.held.Dead(ctx, o.pool, query)
	all := make([]DeadRecord, len(listed))
	for i := range listed {
		l := &listed[i]
		all[i] = DeadRecord{
			Record: recordOf(&l.Row), Errors: failures(l.Errors), Reason: l.Reason, DiedAt: l.Since.In(time.UTC),
		}
	}
	return all, describe(err)
}

func (q ParkedQuery) query() (pgheld.Query, error) {
	limit, err := limitOr(q.Limit)
	return pgheld.Query{Group: groupOr(q.Group), Topic: q.Topic, Key: q.Key, After: q.After, Limit: limit}, err
}

// limitOr returns limit, or its default.
func limitOr(limit int) (int, error) {
	if limit == 0 {
		return 100, nil
	}
	if limit < 1 || limit > 10_000 {
		return 0, fmt.Errorf("%w: Limit = %d: must be 1 to 10000", ErrInvalidRequest, limit)
	}
	return limit, nil
}

func failures(errs []pgheld.Error) []DeliveryFailure {
	all := make([]DeliveryFailure, len(errs))
	for i, e := range errs {
		all[i] = DeliveryFailure(e)
	}
	return all
}
