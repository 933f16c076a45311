package kafkasource_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// A5: TestSaramaPartitioner_EqualsSarama: our partitioner puts keys where sarama's does.
func TestSaramaPartitioner_EqualsSarama(t *testing.T) {
	t.Parallel()
	ours, theirs := kafkasource.SaramaPartitioner().ForTopic("t"), sarama.NewHashPartitioner("t")
	for i := range 5000 {
		key := fmt.Sprintf("key-%d%s", i, strings.Repeat("ü", i%7))
		for _, n := range []int32{1, 3, 8, 100} {
			want, err := theirs.Partition(&sarama.ProducerMessage{Key: sarama.StringEncoder(key)}, n)
			require.NoError(t, err)
			require.Equal(t, int(want), ours.Partition(&kgo.Record{Key: []byte(key)}, int(n)), "%s over %d", key, n)
		}
	}
}

// A5: TestSaramaPartitioner_KeepsKeysOfAMixedFeed: with it, watermill-kafka's publisher and
// ours put a key into the same partition, without it they do not.
func TestSaramaPartitioner_KeepsKeysOfAMixedFeed(t *testing.T) {
	t.Parallel()
	const keys = 50
	env := testenv.RealKafka(t)
	for name, opts := range map[string][]kgo.Opt{
		"same":  {kgo.RecordPartitioner(kafkasource.SaramaPartitioner())},
		"other": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := env.Topic(t, name, 7)
			ours, err := kafkasource.NewPublisher(env.Brokers, kafkasource.PublisherConfig{Options: opts})
			require.NoError(t, err)
			theirs, err := kafka.NewPublisher(kafka.PublisherConfig{Brokers: env.Brokers, Marshaler: partitioned()}, watermill.NopLogger{})
			require.NoError(t, err)
			for i := range keys {
				for _, pub := range []message.Publisher{ours, theirs} {
					msg := message.NewMessage(watermill.NewUUID(), []byte("x"))
					msg.Metadata.Set(outbox.HeaderKey, "key-"+strconv.Itoa(i))
					require.NoError(t, pub.Publish(topic, msg))
				}
			}
			require.NoError(t, ours.Close())
			require.NoError(t, theirs.Close())
			require.Equal(t, name == "other", moved(t, env.Brokers, topic, 2*keys) > 0)
		})
	}
}

// partitioned is watermill-kafka's marshaler with our key.
func partitioned() kafka.MarshalerUnmarshaler {
	return kafka.NewWithPartitioningMarshaler(func(_ string, msg *message.Message) (string, error) {
		return msg.Metadata.Get(outbox.HeaderKey), nil
	})
}

// moved counts the keys among the first n records of topic that lie in two partitions.
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
