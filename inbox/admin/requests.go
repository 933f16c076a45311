package admin

import (
	"errors"
	"fmt"

	common "github.com/leat-go/leat/outbox/admin"
)

// By names the person or program that requests a change, and the reason: the same as for an outbox.
type By = common.By

// Changed is the result of a request, or with DryRun its expected result. IDs are in the order in which the
// messages were parked.
type Changed = common.Changed

// ChangeRequest asks to try messages again (Inbox.Redrive), or to drop them (Inbox.Drop).
type ChangeRequest struct {
	By
	Selection

	// Consumer is the consumer of the messages. Required.
	Consumer string

	// DryRun makes the call return what it would change, and change nothing: it needs only the
	// privileges of reading. Defaults to false.
	DryRun bool
}

func (r *ChangeRequest) complete() error {
	return errors.Join(common.Complete(&r.By), required(field{"Consumer", r.Consumer}), completeSelection(&r.Selection))
}

// SkipHeadRequest asks to drop the first message of a parked key.
type SkipHeadRequest struct {
	By

	// Consumer is the consumer of the message. Required.
	Consumer string
	// Topic and Key are the topic and the key of the message. Key is required; Topic is empty for messages
	// that did not come through a router.
	Topic, Key string

	// DryRun makes the call return what it would change, and change nothing.
	// Defaults to false.
	DryRun bool
}

func (r *SkipHeadRequest) complete() error {
	err := errors.Join(common.Complete(&r.By), required(field{"Consumer", r.Consumer}), storableTexts(field{"Topic", r.Topic}))
	if r.Key == "" {
		err = errors.Join(err, fmt.Errorf("%w: Key is empty", ErrInvalidRequest))
	}
	return err
}
