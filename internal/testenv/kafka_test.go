package testenv_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/internal/testenv"
)

func admin(t *testing.T, env *testenv.KafkaEnv) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(env.Brokers...), kgo.AllowAutoTopicCreation())
	require.NoError(t, err)
	t.Cleanup(client.Close)

	return kadm.NewClient(client)
}

func TestKafka_TopicsArePrefixedAndDeletedAfterTheTest(t *testing.T) {
	t.Parallel()

	for name, start := range map[string]func(testing.TB) *testenv.KafkaEnv{
		"shared": testenv.Kafka, "fake": testenv.Fake,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := start(t)
			topic := env.Topic(t, "orders", 3)
			require.Equal(t, env.Prefix+"orders", topic)

			listed, err := admin(t, env).ListTopics(t.Context())
			require.NoError(t, err)
			require.Len(t, listed[topic].Partitions, 3)
		})
	}
}

func TestKafka_DeletesTopicsThatWereCreatedByUse(t *testing.T) {
	t.Parallel()

	watcher := testenv.Kafka(t)
	var topic string
	t.Run("owner", func(t *testing.T) {
		env := testenv.Kafka(t)
		topic = env.Name("by-use")
		client, err := kgo.NewClient(kgo.SeedBrokers(env.Brokers...), kgo.AllowAutoTopicCreation())
		require.NoError(t, err)
		defer client.Close()
		require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: topic}).FirstErr())
	})

	// The broker answers a deletion before it stops telling of the topic.
	watch := admin(t, watcher)
	require.Eventually(t, func() bool {
		listed, err := watch.ListTopics(t.Context())
		return err == nil && !listed.Has(topic)
	}, time.Minute, 20*time.Millisecond, "the topic is still there")
}

func TestRealKafka_IsReal(t *testing.T) {
	t.Parallel()

	env := testenv.RealKafka(t)
	require.True(t, env.Real)
	require.NotEmpty(t, env.Version)
}

//leat:level 4
func TestSecuredKafka_AllowsWhatItsACLsSay(t *testing.T) {
	t.Parallel()

	s := testenv.SecuredKafka(t)
	s.Topic(t, "orders", nil)
	write := func(opts ...kgo.Opt) error {
		client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(s.Brokers...), kgo.RequestRetries(2))...)
		require.NoError(t, err)
		defer client.Close()

		return client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders"}).FirstErr()
	}
	require.NoError(t, write(s.Admin()...))
	password := s.User(t, "writer")
	right := testenv.ACL{Operation: kmsg.ACLOperationWrite, Resource: "topic", Name: "orders"}
	denied := func() bool { return errors.Is(write(s.As("writer", password)...), kerr.TopicAuthorizationFailed) }
	require.Eventually(t, denied, time.Minute, 20*time.Millisecond)
	s.Allow(t, "writer", right)
	require.Eventually(t, func() bool { return write(s.As("writer", password)...) == nil }, time.Minute, 20*time.Millisecond)
	s.Withdraw(t, "writer", right)
	require.Eventually(t, denied, time.Minute, 20*time.Millisecond)
}
