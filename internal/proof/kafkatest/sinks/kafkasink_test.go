package sinks_test

import (
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// watermill-kafka's subscriber reads what the Sink has sent, with its id and metadata.
func TestO4_WatermillReadsIt(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	topic := env.Topic(t, "watermill", 1)
	s, err := kafkasink.New(env.Brokers, kafkasink.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	sent := outbox.Record{Seq: 1, CreatedAt: time.Now().UTC(), Message: outbox.Message{
		ID: "id-1", Topic: topic, Key: "customer-1", Payload: []byte("payload"), Type: "OrderPlaced",
		OccurredAt: time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC), Headers: map[string]string{"traceparent": "00-1"},
	}}
	for _, r := range s.Send(within(t), []outbox.Record{sent}) {
		require.NoError(t, r.Err)
	}

	config := kafka.DefaultSaramaSubscriberConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	sub, err := kafka.NewSubscriber(kafka.SubscriberConfig{
		Brokers: env.Brokers, Unmarshaler: kafka.DefaultMarshaler{}, OverwriteSaramaConfig: config,
	}, watermill.NopLogger{})
	require.NoError(t, err)
	defer func() { require.NoError(t, sub.Close()) }()
	ctx := within(t)
	messages, err := sub.Subscribe(ctx, topic)
	require.NoError(t, err)
	select {
	case msg := <-messages:
		require.Equal(t, sent.ID, msg.UUID)
		require.Equal(t, sent.Payload, []byte(msg.Payload))
		require.Equal(t, map[string]string{
			"traceparent": "00-1", "event-id": sent.ID, "event-type": "OrderPlaced", "event-time": "2024-02-29T12:00:00Z",
		}, map[string]string(msg.Metadata))
		key, ok := kafka.MessageKeyFromCtx(msg.Context())
		require.True(t, ok)
		require.Equal(t, []byte("customer-1"), key)
		msg.Ack()
	case <-ctx.Done():
		require.Fail(t, "no message")
	}
}
