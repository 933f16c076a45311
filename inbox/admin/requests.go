package admin

import (
	"errors"
	"fmt"

	common "github.com/leat-go/leat/outbox/admin"
)

// By is who asks for a change, and why: the same as for an outbox.
type By = common.By

// Changed is what a request has changed, or would have; IDs are in the order in which the
// messages were parked.
type Changed = common.Changed

// RedriveRequest asks to try messages again.
type RedriveRequest struct {
	By
	Selection

	// Consumer is whose messages they are. Required.
	Consumer string

	// DryRun makes the call return what it would change, and change nothing: it needs no
	// more than looking does. Defaults to false.
	DryRun bool
}

// Complete returns r with its defaults, or an error that wraps ErrInvalidRequest.
func (r RedriveRequest) Complete() (RedriveRequest, error) {
	selection, err := r.Selection.Complete()
	r.Selection = selection
	return r, errors.Join(r.Check(), required(field{"Consumer", r.Consumer}), err)
}

// DropRequest asks to drop messages.
type DropRequest RedriveRequest

// Complete returns r with its defaults, or an error that wraps ErrInvalidRequest.
func (r DropRequest) Complete() (DropRequest, error) {
	completed, err := RedriveRequest(r).Complete()
	if r.Key != "" {
		completed.Limit = maxLimit // with all that waits
	}
	return DropRequest(completed), err
}

// SkipHeadRequest asks to drop the first message of a parked key.
type SkipHeadRequest struct {
	By

	// Consumer is whose message it is. Required.
	Consumer string
	// Topic and Key are those of the message. Key is required; Topic is empty for
	// messages that did not come through a router.
	Topic, Key string

	// DryRun makes the call return what it would change, and change nothing.
	// Defaults to false.
	DryRun bool
}

// Complete returns r with its defaults, or an error that wraps ErrInvalidRequest.
func (r SkipHeadRequest) Complete() (SkipHeadRequest, error) {
	err := errors.Join(r.Check(), required(field{"Consumer", r.Consumer}), storableTexts(field{"Topic", r.Topic}))
	if r.Key == "" {
		err = errors.Join(err, fmt.Errorf("%w: Key is empty", ErrInvalidRequest))
	}
	return r, err
}
