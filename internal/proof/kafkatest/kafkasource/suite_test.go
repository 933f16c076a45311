package kafkasource_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
)

// The suite that Watermill has for every Pub/Sub, in its long form: against an outbox with
// its relay and our subscriber, and against each of them with the other half of
// watermill-kafka's. Its test of reconnects has a data race, and a minute for what a busy
// machine does in two: TestReconnect is in its place.

// side creates one half of a Pub/Sub.
type side struct {
	publisher  func(brokers []string) (message.Publisher, error)
	subscriber func(brokers []string, group string) (message.Subscriber, error)
}

func byPayload(_ string, msg *message.Message) (string, error) { return string(msg.Payload), nil }

// subscribing returns our subscriber, with a configuration that change has modified.
func subscribing(change func(*kafkasource.Config)) side {
	return side{
		subscriber: func(brokers []string, group string) (message.Subscriber, error) {
			cfg := brisk()
			cfg.DrainTimeout = 500 * time.Millisecond
			cfg.NewTopic = kafkasource.NewTopic{Partitions: 4, ReplicationFactor: 1}
			change(&cfg)
			if cfg.NoGroup {
				group = ""
			}
			return kafkasource.NewSubscriber(brokers, group, cfg)
		},
	}
}

// theirs returns watermill-kafka's publisher and subscriber.
func theirs() side {
	marshaler := kafka.NewWithPartitioningMarshaler(byPayload)
	return side{
		publisher: func(brokers []string) (message.Publisher, error) {
			return kafka.NewPublisher(kafka.PublisherConfig{Brokers: brokers, Marshaler: marshaler}, watermill.NopLogger{})
		},
		subscriber: func(brokers []string, group string) (message.Subscriber, error) {
			config := kafka.DefaultSaramaSubscriberConfig()
			config.Consumer.Offsets.Initial = sarama.OffsetOldest
			config.Consumer.Group.Session.Timeout = 6 * time.Second
			config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
			return kafka.NewSubscriber(kafka.SubscriberConfig{
				Brokers: brokers, ConsumerGroup: group, Unmarshaler: marshaler, OverwriteSaramaConfig: config,
				NackResendSleep:        5 * time.Millisecond,
				InitializeTopicDetails: &sarama.TopicDetail{NumPartitions: 4, ReplicationFactor: 1},
			}, watermill.NopLogger{})
		},
	}
}

func grouped(*kafkasource.Config) {}

// A7: TestWatermillSuite: keys stay in order with 16 messages in flight, from watermill-kafka's publisher.
func TestWatermillSuite(t *testing.T) {
	t.Parallel()
	universal(t, theirs(), subscribing(grouped), tests.Features{ConsumerGroups: true, GuaranteedOrder: true})
}

// A7: TestWatermillSuite_NoGroup: every subscriber gets all messages.
//
//leat:level 2
func TestWatermillSuite_NoGroup(t *testing.T) {
	t.Parallel()
	all := subscribing(func(c *kafkasource.Config) { c.NoGroup = true })
	universal(t, theirs(), all, tests.Features{RequireSingleInstance: true})
}

// A7: TestWatermillSuite_Outbox: what is published in transactions arrives through a relay.
//
//leat:level 2
func TestWatermillSuite_Outbox(t *testing.T) {
	t.Parallel()
	universal(t, throughOutbox(t), subscribing(grouped), tests.Features{ConsumerGroups: true, GuaranteedOrder: true})
}

// A7: TestWatermillSuite_TheirSubscriber: watermill-kafka's subscriber reads what a relay
// sends.
//
//leat:level 2
func TestWatermillSuite_TheirSubscriber(t *testing.T) {
	t.Parallel()
	universal(t, throughOutbox(t), theirs(), tests.Features{ConsumerGroups: true, GuaranteedOrder: true})
}

func universal(t *testing.T, from, to side, features tests.Features) {
	t.Helper()
	env := testenv.RealKafka(t)
	features.Persistent, features.NewSubscriberReceivesOldMessages = true, true
	features.GenerateTopicFunc = func(c tests.TestContext) string { return env.Name(c.TestID.String()) }
	construct := constructor(env.Brokers, env.Name, from, to)
	tests.TestPubSub(t, features, func(t *testing.T) (message.Publisher, message.Subscriber) {
		return construct(t, groupOf(t))
	}, construct)
}

func constructor(brokers []string, name func(string) string, from, to side) tests.ConsumerGroupPubSubConstructor {
	return func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		t.Helper()
		pub, err := from.publisher(brokers)
		require.NoError(t, err)
		sub, err := to.subscriber(brokers, name(group))
		require.NoError(t, err)
		// One of the suite's tests closes its subscribers before it uses them.
		t.Cleanup(func() { require.NoError(t, errors.Join(pub.Close(), sub.Close())) })
		return pub, sub
	}
}

// groupOf returns the group of a test's subscribers. Subscribers that must receive the same messages as
// earlier ones get a group each.
func groupOf(t *testing.T) string {
	t.Helper()
	if strings.Contains(t.Name(), "/TestNewSubscriberReceivesOldMessages/") {
		return "group-" + uuid.NewString()
	}
	return "group-" + uuid.NewSHA1(uuid.NameSpaceOID, []byte(t.Name())).String()
}
