// Package routed gives tests messages whose contexts name a handler of Watermill's
// router, which only a router can put there.
package routed

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
)

// Message returns the message called id as the handler called handler gets it. Its
// context is a child of ctx.
func Message(ctx context.Context, handler, id string) (*message.Message, error) {
	pubsub := gochannel.NewGoChannel(gochannel.Config{Persistent: true, BlockPublishUntilSubscriberAck: true, PreserveContext: true}, nil)
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		return nil, err
	}
	var got *message.Message
	router.AddConsumerHandler(handler, "in", pubsub, func(msg *message.Message) error { //nolint:contextcheck // the message has one of its own
		got = message.NewMessageWithContext(msg.Context(), id, nil)
		return nil
	})
	stopped := make(chan error, 1)
	go func() { stopped <- router.Run(context.WithoutCancel(ctx)) }()
	<-router.Running()
	err = pubsub.Publish("in", message.NewMessageWithContext(ctx, id, nil))
	return got, errors.Join(err, router.Close(), <-stopped)
}
