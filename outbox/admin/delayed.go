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

	// After is the last message of the page before; of it, NotBefore and No count.
	// Defaults to none: the first page.
	After *DelayedMessage

	// Limit bounds the page, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

// Complete returns q with its defaults, or an error that wraps ErrInvalidRequest.
func (q DelayedQuery) Complete() (DelayedQuery, error) {
	var err error
	if q.Limit, err = limitOr(q.Limit, 100, 10_000); err != nil {
		return q, err
	}
	return q, checkTexts(map[string]string{"ID": q.ID, "Topic": q.Topic, "Key": q.Key})
}

// CancelRequest asks to take back a message that is not due yet.
type CancelRequest struct {
	By

	// ID is the message's. If several were enqueued by that id, all of them are taken
	// back. Required.
	ID string
	// DryRun returns what would be taken back, and changes nothing.
	DryRun bool
}

// Check returns an error that wraps ErrInvalidRequest if r is incomplete.
func (r CancelRequest) Check() error {
	if r.ID == "" {
		return errors.Join(r.By.Check(), fmt.Errorf("%w: ID is empty", ErrInvalidRequest))
	}
	return errors.Join(r.By.Check(), checkTexts(map[string]string{"ID": r.ID}))
}
