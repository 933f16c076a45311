package sinks_test

import (
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// A5: TestPartitionSarama_KeepsKeysOfAMixedFeed: with PartitionSarama, watermill-kafka's publisher and the
// sink put a key into the same partition; without it they do not.
func TestPartitionSarama_KeepsKeysOfAMixedFeed(t *testing.T) {
	t.Parallel()
	const keys = 50
	env := testenv.RealKafka(t)
	for name, partitioner := range map[string]kafkasink.Partitioner{"same": kafkasink.PartitionSarama, "other": kafkasink.PartitionJava} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := env.Topic(t, name, 7)
			ours, err := kafkasink.New(env.Brokers, kafkasink.Config{Partitioner: partitioner})
			require.NoError(t, err)
			theirs, err := kafka.NewPublisher(kafka.PublisherConfig{Brokers: env.Brokers, Marshaler: partitioned()}, watermill.NopLogger{})
			require.NoError(t, err)
			records := make([]outbox.Record, keys)
			for i := range records {
				id, key := watermill.NewUUID(), "key-"+strconv.Itoa(i)
				records[i] = outbox.Record{Seq: int64(i), Message: outbox.Message{ID: id, Topic: topic, Key: key, Payload: []byte("x")}}
				msg := message.NewMessage(id, []byte("x"))
				msg.Metadata.Set(outbox.HeaderKey, key)
				require.NoError(t, theirs.Publish(topic, msg))
			}
			for _, r := range ours.Send(within(t), records) {
				require.NoError(t, r.Err)
			}
			require.NoError(t, ours.Close())
			require.NoError(t, theirs.Close())
			require.Equal(t, name == "other", moved(t, env.Brokers, topic, 2*keys) > 0)
		})
	}
}

// partitioned returns watermill-kafka's marshaler with leat's key.
func partitioned() kafka.MarshalerUnmarshaler {
	return kafka.NewWithPartitioningMarshaler(func(_ string, msg *message.Message) (string, error) {
		return msg.Metadata.Get(outbox.HeaderKey), nil
	})
}

// moved counts the keys that occur in two partitions, among the first n records of topic.
func moved(t *testing.T, addrs []string, topic string, n int) int {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.ConsumeTopics(topic))
	require.NoError(t, err)
	defer c.Close()
	of, two := map[string]int32{}, map[string]bool{}
	for n > 0 {
		fetches := c.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			n--
			if before, ok := of[string(r.Key)]; ok && before != r.Partition {
				two[string(r.Key)] = true
			}
			of[string(r.Key)] = r.Partition
		})
	}
	return len(two)
}
