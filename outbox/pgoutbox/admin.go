package pgoutbox

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox/internal/pgheld"
	"github.com/leat-go/leat/outbox/driver"
)

var (
	// ErrInvalidRequest is returned by the methods for people when a request is
	// incomplete or contradicts itself: Actor or Reason is empty, nothing is
	// selected, or in two ways. The text names the field. Nothing was changed.
	ErrInvalidRequest = pgheld.ErrInvalidRequest

	// ErrNotParked is returned by Redrive, SkipHead and Drop where the key or id that
	// was asked for is neither parked nor dead. Nothing was changed.
	ErrNotParked = pgheld.ErrNotParked

	// ErrBeingRetried is returned by Redrive, SkipHead and Drop where what was asked
	// for is held, and the relay is trying to deliver it: it may be on its way, so
	// nobody can drop it. Nothing was changed.
	ErrBeingRetried = pgheld.ErrBeingRetried
)

// By says who asks for a change, and why. Both are required, are stored in the
// audit, and are valid UTF-8 without NUL.
type By struct {
	Actor, Reason string
}

// Selection selects records that were set aside, in one of three ways: those of
// Topic and Key; those with ID; or those that pass the filter of Topics, Kind and
// Before, each of which may be left out.
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

	// Dead selects dead records instead of parked ones.
	// Defaults to false.
	Dead bool

	// Limit bounds the records that are changed, in one transaction during which
	// the relays of the group set nothing aside: 1 to 100,000. Call again until
	// nothing is changed.
	// Defaults to 10,000.
	Limit int
}

// RedriveRequest asks to try records again.
type RedriveRequest struct {
	By
	Selection

	// Group is the relay group that has set them aside.
	// Defaults to "default".
	Group string
}

// DropRequest asks to drop records.
type DropRequest RedriveRequest

// SkipHeadRequest asks to drop the first record of a parked key.
type SkipHeadRequest struct {
	By

	// Group is the relay group that has parked the key.
	// Defaults to "default".
	Group string
	// Key is the parked key. Required.
	Key driver.Key
}

// Changed says what a request has changed.
type Changed struct {
	// Count is the number of records, IDs are their ids, ascending in Seq.
	Count int
	IDs   []string
}

// Redrive lets the relay try parked records again, from now on. Their ids stay, so
// that inboxes recognise those that had arrived after all; their attempts begin at
// 0, their errors are kept.
//
// A parked key is redriven as a whole, whichever of its records is named: its first
// record is due, and the others follow in order. Dead records are held again and
// tried, but their key has gone on meanwhile: they come after what has passed since,
// and, where records of the key are held, before those with a higher Seq.
//
// Errors: ErrInvalidRequest, ErrNotParked, ErrBeingRetried, or the database's. A
// filter that matches nothing is no error. Relays see the change at their next
// look, within a poll.
func (o *Outbox) Redrive(ctx context.Context, req RedriveRequest) (Changed, error) {
	changed, err := o.held.Redrive(ctx, o.pool, groupOr(req.Group), req.selection(), pgheld.By(req.By))
	o.bell.ring()
	return Changed(changed), describe(err)
}

// Drop drops parked or dead records for good: they are never sent. The audit keeps
// their ids and errors, nothing keeps their payloads.
//
// A key is dropped with all that waits behind its parked record. By ID, one record
// is dropped; where it was the first of its key, the next one is due. By a filter, the
// parked records that match are dropped, and those behind them are due.
//
// Errors: ErrInvalidRequest, ErrNotParked, ErrBeingRetried, or the database's. A
// filter that matches nothing is no error.
func (o *Outbox) Drop(ctx context.Context, req DropRequest) (Changed, error) {
	changed, err := o.held.Drop(ctx, o.pool, groupOr(req.Group), RedriveRequest(req).selection(), pgheld.By(req.By))
	o.bell.ring()
	return Changed(changed), describe(err)
}

// SkipHead drops the first record of a parked key; the next one is due, and the
// others follow it in order. Errors: ErrInvalidRequest; ErrNotParked where nothing of
// the key is held; ErrBeingRetried where its first record is not parked; or the
// database's.
func (o *Outbox) SkipHead(ctx context.Context, req SkipHeadRequest) (Changed, error) {
	changed, err := o.held.SkipHead(ctx, o.pool, groupOr(req.Group), pgheld.Key(req.Key), pgheld.By(req.By))
	o.bell.ring()
	return Changed(changed), describe(err)
}

func (r RedriveRequest) selection() pgheld.Selection {
	s := pgheld.Selection(r.Selection)
	if s.Limit == 0 {
		s.Limit = 10_000
	}
	return s
}

func groupOr(group string) string {
	if group == "" {
		return "default"
	}
	return group
}
