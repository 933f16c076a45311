package wmsink_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmsink"
)

// byKey partitions as the package tells users to.
func byKey() kafka.MarshalerUnmarshaler {
	return kafka.NewWithPartitioningMarshaler(func(_ string, msg *message.Message) (string, error) {
		return msg.Metadata.Get(outbox.HeaderKey), nil
	})
}

// classifySarama is what a user of watermill-kafka may write.
func classifySarama(err error) outbox.FailureKind {
	_, tooLarge := errors.AsType[sarama.ConfigurationError](err) // sarama's own check of the size
	switch {
	case tooLarge, errors.Is(err, sarama.ErrMessageSizeTooLarge), errors.Is(err, sarama.ErrInvalidMessage):
		return outbox.FailurePermanent
	case errors.Is(err, sarama.ErrOutOfBrokers), errors.Is(err, sarama.ErrUnknownTopicOrPartition):
		return outbox.FailureOutage
	default:
		return wmsink.DefaultClassify(err)
	}
}

func TestO5_WatermillKafka(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	topic := env.Topic(t, "wmsink", 3)
	pub, err := kafka.NewPublisher(kafka.PublisherConfig{Brokers: env.Brokers, Marshaler: byKey()}, watermill.NopLogger{})
	require.NoError(t, err)
	defer func() { require.NoError(t, pub.Close()) }()
	s := newSink(t, pub, wmsink.Config{Lanes: 32, Classify: classifySarama})
	sent := records(600, 13)
	for i := range sent {
		sent[i].Topic = topic
	}
	sent[100].Payload = []byte(strings.Repeat("x", 2<<20))

	results := s.Send(t.Context(), sent)
	require.Equal(t, outbox.FailurePermanent, outbox.KindOf(results[100].Err), results[100].Err)
	for i, r := range results {
		if i > 100 && sent[i].Key == sent[100].Key {
			require.Equal(t, outbox.FailureNotSent, outbox.KindOf(r.Err))
		} else if i != 100 {
			require.NoError(t, r.Err)
		}
	}
	require.NoError(t, s.Wait(t.Context()))

	ids, partitions := consume(t, env.Brokers, topic, 600-len(unsent(sent, results)))
	require.Empty(t, outOfOrder(sent, ids))
	require.Len(t, partitions, 13)
	for key, on := range partitions {
		require.Len(t, on, 1, "key %s is in one partition", key)
	}
}

// consume reads n messages of topic through watermill-kafka's subscriber, and
// says which partitions a key was seen in.
func consume(t *testing.T, addrs []string, topic string, n int) (ids []string, partitions map[string]map[int32]bool) {
	t.Helper()
	config := kafka.DefaultSaramaSubscriberConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	sub, err := kafka.NewSubscriber(kafka.SubscriberConfig{
		Brokers: addrs, Unmarshaler: byKey(), OverwriteSaramaConfig: config,
	}, watermill.NopLogger{})
	require.NoError(t, err)
	defer func() { require.NoError(t, sub.Close()) }()
	messages, err := sub.Subscribe(t.Context(), topic)
	require.NoError(t, err)
	partitions = make(map[string]map[int32]bool)
	for range n {
		msg := <-messages
		ids = append(ids, msg.UUID)
		key := msg.Metadata.Get(outbox.HeaderKey)
		on, ok := kafka.MessagePartitionFromCtx(msg.Context())
		require.True(t, ok)
		if partitions[key] == nil {
			partitions[key] = make(map[int32]bool)
		}
		partitions[key][on] = true
		msg.Ack()
	}
	return ids, partitions
}
