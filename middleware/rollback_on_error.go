package middleware

import (
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
)

// errPanicked marks the transaction of a handler that panicked.
var errPanicked = errors.New("leat: handler panicked")

// RollbackOnError makes sure that a handler's error rolls back, even if a
// middleware between it and Inbox swallows the error, as Watermill's
// IgnoreErrors does, or turns a panic into an error that another swallows. Add
// it last, so that it is innermost. Without an Inbox around it, it does nothing.
func RollbackOnError(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) (produced []*message.Message, err error) {
		ctx := msg.Context() // the handler may replace it
		cause := errPanicked
		defer func() {
			if cause != nil {
				inbox.MarkRollbackOnly(ctx, cause)
			}
		}()
		produced, err = h(msg)
		cause = err
		return produced, err
	}
}
