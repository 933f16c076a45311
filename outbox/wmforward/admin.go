package wmforward

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox/internal/pgheld"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var (
	// ErrInvalidRequest is returned by the methods for people when a request is
	// incomplete or contradicts itself. The text names the field. Nothing was changed.
	ErrInvalidRequest = pgheld.ErrInvalidRequest

	// ErrNotParked is returned by Redrive, SkipHead and Drop where the key or id that
	// was asked for is neither parked nor dead. Nothing was changed.
	ErrNotParked = pgheld.ErrNotParked

	// ErrBeingRetried is returned by Redrive, SkipHead and Drop where what was asked
	// for is held, and the relay is trying to deliver it. Nothing was changed.
	ErrBeingRetried = pgheld.ErrBeingRetried
)

// By says who asks for a change, and why. Both are required and are stored in the
// audit.
type By struct {
	Actor, Reason string
}

// Selection selects records that were set aside, in one of three ways: those of
// Topic and Key; those with ID, which for a malformed row is the row's uuid; or
// those that pass the filter of Topics, Kind and Before.
type Selection struct {
	// Topic and Key select the records of one key.
	Topic, Key string

	// ID selects the parked records with this id, or the dead ones if there are none.
	ID string

	// Topics is a pattern of topics, in which * stands for any run of characters.
	Topics string
	// Kind is the kind of the last error, as outbox.FailureKind.String has it.
	Kind string
	// Before selects records that were set aside before it, by the database's clock.
	Before time.Time

	// Dead selects dead records instead of parked ones. Defaults to false.
	Dead bool

	// Limit bounds the records that are changed, 1 to 100,000.
	// Defaults to 10,000.
	Limit int
}

func (s Selection) held() pgheld.Selection {
	if s.Limit == 0 {
		s.Limit = 10_000
	}
	return pgheld.Selection(s)
}

// Changed says what a request has changed.
type Changed struct {
	// Count is the number of records, IDs are their ids, ascending in Seq.
	Count int
	IDs   []string
}

// Redrive lets the relay of the Source's group try records again, from now on, with
// the same ids. A parked key is redriven as a whole, in order. Errors:
// ErrInvalidRequest, ErrNotParked, ErrBeingRetried, or the database's; a filter that
// matches nothing is no error.
func (s *Source) Redrive(ctx context.Context, sel Selection, by By) (Changed, error) {
	changed, err := s.held.Redrive(ctx, s.pool, s.slot.Group, sel.held(), pgheld.By(by))
	return Changed(changed), describe(err)
}

// Drop drops parked or dead records for good: they are never sent. The audit keeps
// their ids and errors, the forwarder's table keeps the rows. Errors as of Redrive.
func (s *Source) Drop(ctx context.Context, sel Selection, by By) (Changed, error) {
	changed, err := s.held.Drop(ctx, s.pool, s.slot.Group, sel.held(), pgheld.By(by))
	return Changed(changed), describe(err)
}

// SkipHead drops the first record of a parked key; the others follow in order.
// Errors as of Redrive.
func (s *Source) SkipHead(ctx context.Context, key driver.Key, by By) (Changed, error) {
	changed, err := s.held.SkipHead(ctx, s.pool, s.slot.Group, pgheld.Key(key), pgheld.By(by))
	return Changed(changed), describe(err)
}

// Query selects records that were set aside.
type Query struct {
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

func (q Query) held(group string) (pgheld.Query, error) {
	if q.Limit == 0 {
		q.Limit = 100
	}
	if q.Limit < 1 || q.Limit > 10_000 {
		return pgheld.Query{}, fmt.Errorf("%w: Limit = %d: must be 1 to 10000", ErrInvalidRequest, q.Limit)
	}
	return pgheld.Query{Group: group, Topic: q.Topic, Key: q.Key, After: q.After, Limit: q.Limit}, nil
}

// Aside is a record that was set aside.
type Aside struct {
	outbox.Record

	// Waits says that the record itself has not failed: it follows a parked one of
	// its key.
	Waits bool
	// Attempts is the number of deliveries that have failed since it was held or
	// redriven; 0 for a dead record.
	Attempts int
	// Errors are the newest hundred errors of its deliveries.
	Errors []Failure
	// Reason says why it was parked or given up.
	Reason string
	// Since is when it was set aside or given up, by the database's clock.
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
	// Epoch is that of the relay's lease.
	Epoch int64
}

// Parked returns the parked records of the Source's group and those that wait behind
// them, ascending in Seq.
func (s *Source) Parked(ctx context.Context, q Query) ([]Aside, error) {
	return s.aside(ctx, q, s.held.Parked)
}

// Dead returns the dead records of the Source's group, ascending in Seq.
func (s *Source) Dead(ctx context.Context, q Query) ([]Aside, error) {
	return s.aside(ctx, q, s.held.Dead)
}

func (s *Source) aside(
	ctx context.Context, q Query, list func(context.Context, pgheld.Queryer, pgheld.Query) ([]pgheld.Listed, error),
) ([]Aside, error) {
	query, err := q.held(s.slot.Group)
	if err != nil {
		return nil, err
	}
	listed, err := list(ctx, s.pool, query)
	all := make([]Aside, len(listed))
	for i := range listed {
		l := &listed[i]
		all[i] = Aside{
			Record: recordOf(&l.Row), Waits: l.Waits, Attempts: l.Attempts, Reason: l.Reason, Since: l.Since.In(time.UTC),
		}
		for _, e := range l.Errors {
			all[i].Errors = append(all[i].Errors, Failure(e))
		}
	}
	return all, describe(err)
}
