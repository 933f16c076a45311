package middleware

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

// redriver is an inbox that runs the messages that operators have redriven.
type redriver interface {
	inbox.Runner

	// RunRedrive is the method of inbox.Processor.
	RunRedrive(ctx context.Context, handle func(ctx context.Context, msg *message.Message) error) error
}

var _ redriver = (*inbox.Processor)(nil)

// RedriveConfig tunes RunRedrive. Processor and Handler are required.
type RedriveConfig struct {
	// Processor is the inbox of the handler: InboxConfig.Processor, or the result of
	// InboxConfig.For for its name. It must have the method RunRedrive of *inbox.Processor, like
	// all types that embed one. Required.
	Processor inbox.Runner

	// Handler runs the messages. Wrap it in the router's middlewares that it needs, but not in
	// NewInbox's. Required.
	Handler message.HandlerFunc

	// Topic is the topic of the messages that Handler returns: the one that the handler
	// was registered with. It needs an Outbox. Defaults to none: a Handler that returns
	// messages fails with ErrNoDestination.
	Topic string

	// Outbox and KeyFunc are the same as in InboxConfig. Default to none, and to outbox.KeyFromMetadata.
	Outbox  outbox.Enqueuer
	KeyFunc outbox.KeyFunc
}

func (c RedriveConfig) validate() error {
	_, redrives := c.Processor.(redriver)
	switch {
	case c.Processor == nil:
		return outbox.ConfigError("RedriveConfig.Processor", nil, "is required")
	case !redrives:
		return outbox.ConfigError("RedriveConfig.Processor", fmt.Sprintf("%T", c.Processor), "has no method RunRedrive")
	case c.Handler == nil:
		return outbox.ConfigError("RedriveConfig.Handler", nil, "is required")
	case c.Topic != "" && c.Outbox == nil:
		return outbox.ConfigError("RedriveConfig.Topic", c.Topic, "has no meaning without Outbox")
	case c.KeyFunc != nil && c.Outbox == nil:
		return outbox.ConfigError("RedriveConfig.KeyFunc", "set", "has no meaning without Outbox")
	default:
		return nil
	}
}

// RunRedrive runs the messages that operators have redriven through a handler, until ctx ends.
// Parked messages reach the handler that a router has behind NewInbox in this way. The messages
// that Handler returns are put into the Outbox under Topic, in the transaction of its effects.
// Errors wrap outbox.ErrInvalidConfig, or are those of the Processor's RunRedrive, which any
// number of goroutines and processes may call.
func RunRedrive(ctx context.Context, cfg RedriveConfig) error {
	if err := cfg.validate(); err != nil {
		return err
	}
	processor, _ := cfg.Processor.(redriver) // validate has checked it
	to := inboxes{InboxConfig{Outbox: cfg.Outbox, KeyFunc: cfg.KeyFunc}}
	return processor.RunRedrive(ctx, func(ctx context.Context, msg *message.Message) error {
		parent := parentOf(processor, msg) //nolint:contextcheck // the message has one of its own
		produced, err := cfg.Handler(msg)
		if err != nil {
			return err
		}
		return to.enqueue(ctx, cfg.Topic, parent.passOn(produced))
	})
}
