package sinks_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmsink"
)

// byKey partitions as the package documentation recommends.
func byKey() kafka.MarshalerUnmarshaler {
	return kafka.NewWithPartitioningMarshaler(func(_ string, msg *message.Message) (string, error) {
		return msg.Metadata.Get(outbox.HeaderKey), nil
	})
}

// classifySarama is a classifier that a user of watermill-kafka might write.
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

//leat:level 1
func TestO5_WatermillKafka(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	topic := env.Topic(t, "wmsink", 3)
	pub, err := kafka.NewPublisher(kafka.PublisherConfig{Brokers: env.Brokers, Marshaler: byKey()}, watermill.NopLogger{})
	require.NoError(t, err)
	defer func() { require.NoError(t, pub.Close()) }()
	s, err := wmsink.New(pub, wmsink.Config{Lanes: 32, Classify: classifySarama})
	require.NoError(t, err)
	sent := make([]outbox.Record, 600)
	for i := range sent {
		sent[i] = outbox.Record{Seq: int64(i + 1), CreatedAt: time.Unix(int64(i), 0), Message: outbox.Message{
			ID: strconv.Itoa(i + 1), Topic: topic, Key: fmt.Sprintf("key-%d", i%13), Payload: []byte("x"),
		}}
	}
	sent[100].Payload = []byte(strings.Repeat("x", 2<<20))

	results, delivered := s.Send(t.Context(), sent), 0
	require.Equal(t, outbox.FailurePermanent, outbox.KindOf(results[100].Err), results[100].Err)
	for i, r := range results {
		if i > 100 && sent[i].Key == sent[100].Key {
			require.Equal(t, outbox.FailureNotSent, outbox.KindOf(r.Err))
		} else if i != 100 {
			require.NoError(t, r.Err)
			delivered++
		}
	}
	require.NoError(t, s.Wait(t.Context()))

	ids, partitions := consume(t, env.Brokers, topic, delivered)
	require.Empty(t, outOfOrder(sent, ids))
	require.Len(t, partitions, 13)
	for key, on := range partitions {
		require.Len(t, on, 1, "key %s is in one partition", key)
	}
}

// consume reads n messages of topic through watermill-kafka's subscriber. It returns their ids, and the
// partitions of each key.
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

// outOfOrder returns the first published id that arrived before an earlier one of its key, or "".
func outOfOrder(sent []outbox.Record, ids []string) string {
	before := make(map[string]string)
	last := make(map[string]string)
	for i := range sent {
		if key := sent[i].Topic + "/" + sent[i].Key; sent[i].Key != "" {
			before[sent[i].ID] = last[key]
			last[key] = sent[i].ID
		}
	}
	seen := map[string]bool{"": true}
	for _, id := range ids {
		if !seen[before[id]] {
			return fmt.Sprintf("%s came before %s", id, before[id])
		}
		seen[id] = true
	}
	return ""
}
