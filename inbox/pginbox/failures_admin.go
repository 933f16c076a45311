package pginbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	// ErrInvalidRequest is returned by the methods for people when a request is
	// incomplete or contradicts itself: Actor or Reason is empty, nothing is
	// selected, or in two ways. The text names the field. Nothing was changed.
	ErrInvalidRequest = errors.New("leat: invalid request")

	// ErrNotParked is returned by Redrive, SkipHead and Drop where nothing of the key
	// or id that was asked for is parked. Nothing was changed.
	ErrNotParked = errors.New("leat: not parked")

	// ErrBeingRetried is returned by Redrive, SkipHead and Drop where what was asked
	// for is redriven: it may be running just now, so nobody can drop it. Nothing was
	// changed.
	ErrBeingRetried = errors.New("leat: is being retried")
)

// By says who asks for a change, and why. Both are required, are stored in the
// audit, and are valid UTF-8 without NUL.
type By struct {
	Actor, Reason string
}

// Selection selects parked messages in one of three ways: those of Topic and Key;
// those with ID; or those that pass the filter of OfTopic and Before, each of
// which may be left out.
type Selection struct {
	// Topic and Key select the messages of one key. Topic is empty for messages that
	// did not come through a router.
	Topic, Key string

	// ID selects the messages with this id.
	ID string

	// OfTopic selects the messages of a topic.
	OfTopic string
	// Before selects messages that were parked before it, by the database's clock.
	Before time.Time

	// Limit bounds the parked messages that a filter selects, 1 to 10,000.
	// Defaults to 1,000.
	Limit int
}

// RedriveRequest asks to try messages again.
type RedriveRequest struct {
	By
	Selection
}

// DropRequest asks to drop messages.
type DropRequest RedriveRequest

// SkipHeadRequest asks to drop the first message of a parked key.
type SkipHeadRequest struct {
	By

	// Topic and Key are those of the message. Key is required.
	Topic, Key string
}

// Changed says what a request has changed.
type Changed struct {
	// Count is the number of messages, IDs are their ids, in the order in which they
	// were parked.
	Count int
	IDs   []string
}

// Redrive makes parked messages due for RunRedrive. A key is redriven as a whole,
// whichever of its messages is named: its first message is due, and the others
// follow, one after another, as each has taken effect; Changed has the first ones.
// Ids stay, and so do the errors; attempts begin at 0.
//
// Errors: ErrInvalidRequest, ErrUnknownConsumer, ErrNotParked, ErrBeingRetried, or the
// database's, after which some of what was selected may have been changed. A filter that
// matches nothing is no error.
func (in *Inbox) Redrive(ctx context.Context, req RedriveRequest) (Changed, error) {
	return in.failures.change(ctx, req.By, req.Selection, false, func(ctx context.Context, tx pgx.Tx, row parkedRow) (int64, error) {
		tag, err := tx.Exec(ctx, in.failures.sql["parked_redrive"], row.no, req.Actor, req.Reason)
		return tag.RowsAffected(), err
	})
}

// Drop drops parked messages for good: their handler never runs. Their ids stay
// recorded, so that redeliveries are duplicates. The audit keeps their ids and
// errors, nothing keeps their payloads.
//
// A key is dropped with all that waits. By ID, or by a filter, the parked messages
// themselves are dropped; where one was the first of its key, the next one is due.
//
// Errors are those of Redrive.
func (in *Inbox) Drop(ctx context.Context, req DropRequest) (Changed, error) {
	return in.failures.change(ctx, req.By, req.Selection, true, in.failures.dropping("drop", req.By))
}

// SkipHead drops the first message of a parked key; the next one is due, and the
// others follow it in order. Errors are those of Redrive.
func (in *Inbox) SkipHead(ctx context.Context, req SkipHeadRequest) (Changed, error) {
	sel := Selection{Topic: req.Topic, Key: req.Key}
	return in.failures.change(ctx, req.By, sel, false, in.failures.dropping("skip_head", req.By))
}

func (f *failures) dropping(action string, by By) changeFunc {
	return func(ctx context.Context, tx pgx.Tx, row parkedRow) (int64, error) {
		tag, err := tx.Exec(ctx, f.sql["parked_drop"], row.no, by.Actor, by.Reason, action)
		return tag.RowsAffected(), err
	}
}

func (b By) check() error {
	switch {
	case strings.TrimSpace(b.Actor) == "":
		return fmt.Errorf("%w: Actor is empty", ErrInvalidRequest)
	case strings.TrimSpace(b.Reason) == "":
		return fmt.Errorf("%w: Reason is empty", ErrInvalidRequest)
	case !fits(b.Actor), !fits(b.Reason):
		return fmt.Errorf("%w: Actor = %.200q, Reason = %.200q: must be valid UTF-8 without NUL", ErrInvalidRequest, b.Actor, b.Reason)
	}
	return nil
}

func (s Selection) check() error {
	ways := 0
	for _, way := range []bool{s.Key != "", s.ID != "", s.OfTopic != "" || !s.Before.IsZero()} {
		if way {
			ways++
		}
	}
	switch {
	case ways != 1:
		return fmt.Errorf("%w: select by Topic and Key, by ID, or by OfTopic and Before", ErrInvalidRequest)
	case s.Topic != "" && s.Key == "":
		return fmt.Errorf("%w: Topic = %.200q, Key = %.200q: a key needs both", ErrInvalidRequest, s.Topic, s.Key)
	case s.Limit < 1 || s.Limit > maxListed:
		return fmt.Errorf("%w: Limit = %d: must be 1 to %d", ErrInvalidRequest, s.Limit, maxListed)
	case !fits(s.Topic), !fits(s.OfTopic):
		return fmt.Errorf("%w: Topic = %.200q, OfTopic = %.200q: must be valid UTF-8 without NUL", ErrInvalidRequest, s.Topic, s.OfTopic)
	}
	return nil
}
