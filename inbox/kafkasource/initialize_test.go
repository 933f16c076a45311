package kafkasource_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// A6: TestSubscribeInitialize makes a topic that is missing, as it was asked to, and
// leaves one that is there alone.
func TestSubscribeInitialize(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	cfg := brisk()
	cfg.NewTopic = kafkasource.NewTopic{Partitions: 3, ReplicationFactor: 1, Configs: map[string]string{"retention.ms": "12345"}}
	s := newSubscriber(t, env.Brokers, env.Name("group"), cfg)
	topic, old := env.Name("made"), env.Topic(t, "old", 1)
	for range 2 {
		require.NoError(t, s.SubscribeInitialize(topic))
	}
	require.NoError(t, s.SubscribeInitialize(old))
	admin := kadm.NewClient(client(t, env.Brokers))
	topics, err := admin.ListTopics(t.Context(), topic, old)
	require.NoError(t, err)
	require.Len(t, topics[topic].Partitions, 3)
	require.Len(t, topics[old].Partitions, 1)
	configs, err := admin.DescribeTopicConfigs(t.Context(), topic)
	require.NoError(t, err)
	found := ""
	for _, c := range configs[0].Configs {
		if c.Key == "retention.ms" {
			found = c.MaybeValue()
		}
	}
	require.Equal(t, "12345", found)

	require.ErrorIs(t, s.SubscribeInitialize(""), outbox.ErrInvalidConfig)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.SubscribeInitialize(topic), outbox.ErrClosed)
}
