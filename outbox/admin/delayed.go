package admin

import (
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox"
)

// DelayedMessage is a message that is not due yet. Its NotBefore is set.
type DelayedMessage struct {
	outbox.Message

	// No tells messages of the same NotBefore apart, in the order of their Enqueue.
	No int64

	// CreatedAt is the database's clock when it was enqueued.
	CreatedAt time.Time
}

// DelayedQuery selects delayed messages. The zero value selects the first hundred.
type DelayedQuery struct {
	// ID, Topic and Key select the messages that have them.
	// Default to any.
	ID, Topic, Key string

	// After is the last message of the page before; only its NotBefore and No are used. Defaults
	// to none: the first page.
	After *DelayedMessage

	// Limit bounds the page, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

func (q *DelayedQuery) complete() error {
	var err error
	if q.Limit, err = limitOr(q.Limit, 100, 10_000); err != nil {
		return err
	}
	return checkTexts(map[string]string{"ID": q.ID, "Topic": q.Topic, "Key": q.Key})
}

// CancelRequest asks to take back a message that is not due yet.
type CancelRequest struct {
	By

	// ID is the id of the message. If several were enqueued with that id, all of them are cancelled.
	// Required.
	ID string
	// DryRun returns what would be taken back, and changes nothing.
	DryRun bool
}

func (r CancelRequest) complete() error {
	if r.ID == "" {
		return errors.Join(r.By.complete(), fmt.Errorf("%w: ID is empty", ErrInvalidRequest))
	}
	return errors.Join(r.By.complete(), checkTexts(map[string]string{"ID": r.ID}))
}
