package brokertest_test

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wmjetstream "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/jetstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// natsServer returns the address of a server in this process.
func natsServer(tb testing.TB) string {
	tb.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: tb.TempDir(), NoLog: true, NoSigs: true,
	})
	require.NoError(tb, err)
	s.Start()
	tb.Cleanup(func() {
		drained := func() bool { return s.NumClients() == 0 } // a client that is cut off drains for half a minute
		require.Eventually(tb, drained, patience, 10*time.Millisecond)
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(tb, s.ReadyForConnections(patience))
	return s.ClientURL()
}

// oneAtATime makes a group keep its position and read in order: a message is delivered once the previous
// one is acked.
func oneAtATime(group string) wmjetstream.ResourceInitializer {
	return func(ctx context.Context, js jetstream.JetStream, topic string) (jetstream.Consumer, func(context.Context, watermill.LoggerAdapter), error) {
		consumer, err := js.CreateOrUpdateConsumer(ctx, topic, jetstream.ConsumerConfig{
			Durable: group, AckPolicy: jetstream.AckExplicitPolicy, AckWait: 3 * time.Second, MaxAckPending: 1,
		})
		return consumer, nil, err
	}
}

func TestNATS(t *testing.T) {
	t.Parallel()
	url := natsServer(t)
	run(t, inTurn, true, func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		t.Helper()
		publisher, err := wmjetstream.NewPublisher(wmjetstream.PublisherConfig{URL: url, Logger: watermill.NopLogger{}})
		require.NoError(t, err)
		subscriber, err := newOrderly(func(u wmjetstream.Unmarshaler) (*wmjetstream.Subscriber, error) {
			return wmjetstream.NewSubscriber(wmjetstream.SubscriberConfig{
				URL: url, Logger: watermill.NopLogger{}, ResourceInitializer: oneAtATime(group), Unmarshaler: u,
			})
		})
		require.NoError(t, err)
		return publisher, subscriber
	})
}
