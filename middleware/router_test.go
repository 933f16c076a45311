package middleware_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/stretchr/testify/require"
)

// captureContext sends msg through a router and returns it as a handler that
// publishes to "out" gets it; its context ends with the test.
func captureContext(t *testing.T, msg *message.Message, into chan<- *message.Message) {
	t.Helper()
	pubsub := gochannel.NewGoChannel(gochannel.Config{Persistent: true, BlockPublishUntilSubscriberAck: true, PreserveContext: true}, nil)
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	require.NoError(t, err)
	router.AddHandler("handler", "in", pubsub, "out", pubsub, func(got *message.Message) ([]*message.Message, error) {
		into <- message.NewMessageWithContext(got.Context(), got.UUID, got.Payload)
		return nil, nil
	})
	stopped := make(chan error, 1)
	go func() { stopped <- router.Run(t.Context()) }()
	<-router.Running()
	require.NoError(t, pubsub.Publish("in", msg))
	require.NoError(t, router.Close())
	require.NoError(t, <-stopped)
}
