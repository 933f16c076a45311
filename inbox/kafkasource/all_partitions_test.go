package kafkasource_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// alone returns a subscriber without a group that notices new partitions at once.
func alone(t *testing.T, env *testenv.KafkaEnv, cfg kafkasource.Config) *kafkasource.Subscriber {
	t.Helper()
	cfg.NoGroup, cfg.SessionTimeout = true, time.Second
	return newSubscriber(t, env.Brokers, "", cfg)
}

// expect acks messages until all of want have come, and fails on any other.
func expect(t *testing.T, msgs <-chan *message.Message, want ...string) {
	t.Helper()
	left := make(map[string]bool)
	for _, id := range want {
		left[id] = true
	}
	for len(left) > 0 {
		msg := receive(t, msgs)
		require.True(t, left[msg.UUID], "message %s, again or never written", msg.UUID)
		delete(left, msg.UUID)
		msg.Ack()
	}
}

func numbered(t *testing.T, env *testenv.KafkaEnv, topic string, partitions int32, prefix string) []string {
	t.Helper()
	ids := make([]string, partitions)
	for p := range partitions {
		ids[p] = prefix + strconv.Itoa(int(p))
		var err error = kerr.UnknownTopicID
		for errors.Is(err, kerr.UnknownTopicID) { // the broker has yet to hear of the new topic
			err = client(t, env.Brokers).ProduceSync(t.Context(), record(topic, p, ids[p], "k")).FirstErr()
		}
		require.NoError(t, err)
	}
	return ids
}

// A6: TestNoGroup_EachReadsEverything: instances without a group each get every message,
// those of partitions that are added later too, and leave nothing in the cluster.
func TestNoGroup_EachReadsEverything(t *testing.T) {
	t.Parallel()
	env := testenv.RealKafka(t)
	topic := env.Topic(t, "all", 3)
	before := numbered(t, env, topic, 3, "before-")
	oldest := []<-chan *message.Message{
		subscribe(t, alone(t, env, kafkasource.Config{}), topic), subscribe(t, alone(t, env, kafkasource.Config{}), topic),
	}
	for _, msgs := range oldest {
		expect(t, msgs, before...)
	}
	parts := newPartitions()
	late := alone(t, env, kafkasource.Config{StartNewest: true, Hooks: []outbox.Hook{parts}})
	newest := subscribe(t, late, topic)
	parts.await(t, assigned, 3)
	admin := kadm.NewClient(client(t, env.Brokers))
	_, err := admin.UpdatePartitions(t.Context(), 5, topic)
	require.NoError(t, err)
	after := numbered(t, env, topic, 5, "after-")
	for _, msgs := range append(oldest, newest) {
		expect(t, msgs, after...)
	}
	groups, err := admin.ListGroups(t.Context())
	require.NoError(t, err)
	require.NotContains(t, groups.Groups(), "")
	require.NoError(t, late.Close())
	parts.await(t, released, 5)
}

// A6: TestNoGroup_TopicMadeAgain: the new topic is read from its start, although the
// subscription began with what was newest.
func TestNoGroup_TopicMadeAgain(t *testing.T) {
	t.Parallel()
	env := testenv.RealKafka(t)
	topic, parts := env.Topic(t, "again", 1), newPartitions()
	numbered(t, env, topic, 1, "unread-")
	msgs := subscribe(t, alone(t, env, kafkasource.Config{
		StartNewest: true, Hooks: []outbox.Hook{parts},
	}), topic)
	parts.await(t, assigned, 1)
	expect(t, msgs, numbered(t, env, topic, 1, "first-")...)
	deleted, err := kadm.NewClient(client(t, env.Brokers)).DeleteTopics(t.Context(), topic)
	require.NoError(t, err)
	require.NoError(t, deleted.Error())
	for {
		resp, err := kadm.NewClient(client(t, env.Brokers)).CreateTopic(t.Context(), 1, 1, nil, topic)
		if err == nil && resp.Err == nil {
			break
		}
		await(t, time.After(20*time.Millisecond), "a pause")
	}
	expect(t, msgs, numbered(t, env, topic, 1, "second-")...)
}
