package kafkasource_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// TestWatermillSuite is the suite that Watermill has for every Pub/Sub, with keys
// in order at 16 messages in flight.
func TestWatermillSuite(t *testing.T) {
	t.Parallel()
	byPayload := func(_ string, msg *message.Message) (string, error) { return string(msg.Payload), nil }
	universal(t, 4, byPayload, tests.Features{ConsumerGroups: true, Persistent: true, GuaranteedOrder: true, ForceShort: true})
}

// TestWatermillSuite_WithoutKeys is the same with messages in any order.
func TestWatermillSuite_WithoutKeys(t *testing.T) {
	t.Parallel()
	universal(t, 4, outbox.KeyFromMetadata, tests.Features{ConsumerGroups: true, Persistent: true, ForceShort: true})
}

func universal(t *testing.T, partitions int32, key outbox.KeyFunc, features tests.Features) {
	t.Helper()
	env := testenv.RealKafka(t)
	features.GenerateTopicFunc = func(c tests.TestContext) string { return env.Name(c.TestID.String()) }
	construct := func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		t.Helper()
		pub, err := kafkasource.NewPublisher(env.Brokers, kafkasource.PublisherConfig{Key: key})
		require.NoError(t, err)
		cfg := brisk()
		cfg.DrainTimeout = 500 * time.Millisecond
		sub, err := kafkasource.NewSubscriber(env.Brokers, env.Name(group), cfg)
		require.NoError(t, err)
		// One of the suite's tests closes its subscribers before it uses them.
		t.Cleanup(func() { require.NoError(t, errors.Join(pub.Close(), sub.Close())) })
		return pub, initializer{Subscriber: sub, brokers: env.Brokers, partitions: partitions}
	}
	tests.TestPubSub(t, features,
		func(t *testing.T) (message.Publisher, message.Subscriber) {
			return construct(t, nameOf(t))
		}, construct)
}

// initializer creates the topics that the suite asks for.
type initializer struct {
	*kafkasource.Subscriber
	brokers    []string
	partitions int32
}

var _ message.SubscribeInitializer = initializer{}

// SubscribeInitialize implements message.SubscribeInitializer.
func (i initializer) SubscribeInitialize(topic string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(i.brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	resp, err := kadm.NewClient(client).CreateTopic(context.Background(), i.partitions, 1, nil, topic)
	if resp.Err == kerr.TopicAlreadyExists { //nolint:errorlint // as the client returns it
		return nil
	}
	return err
}

// nameOf returns a name that the members of one test share.
func nameOf(t *testing.T) string {
	t.Helper()
	return "group-" + uuid.NewSHA1(uuid.NameSpaceOID, []byte(t.Name())).String()
}
