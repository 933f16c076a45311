package middleware

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
)

// ErrNoRedriver is returned by RunRedrive where the Processor cannot redrive.
var ErrNoRedriver = errors.New("leat: middleware.Inbox's Processor has no RunRedrive")

// Redriver is a Processor that runs messages again which people have redriven.
// *inbox.Processor and all that embed it are one.
type Redriver interface {
	Processor

	// RunRedrive is inbox.Processor's.
	RunRedrive(ctx context.Context, handle func(ctx context.Context, msg *message.Message) error) error
}

var _ Redriver = (*inbox.Processor)(nil)

// RunRedrive runs the messages that people have redriven through h, until ctx ends:
// the way in which parked messages come to the handler that a router has behind
// Middleware. What h returns is put into the Outbox under topic, the one that the
// handler was registered with; it may be empty where h returns nothing. Wrap h in
// those of the router's middlewares that it needs. The Inbox needs a Processor: that
// of the one handler, which For would return. Errors: ErrNoProcessor, ErrNoRedriver, or that of the Processor's RunRedrive.
func (i Inbox) RunRedrive(ctx context.Context, topic string, h message.HandlerFunc) error {
	if i.Processor == nil {
		return ErrNoProcessor
	}
	redriver, ok := i.Processor.(Redriver)
	if !ok {
		return ErrNoRedriver
	}
	return redriver.RunRedrive(ctx, func(ctx context.Context, msg *message.Message) error {
		parent := parentOf(i.Processor, msg) //nolint:contextcheck // the message has one of its own
		produced, err := h(msg)
		if err != nil {
			return err
		}
		return i.enqueue(ctx, topic, parent.passOn(produced))
	})
}
