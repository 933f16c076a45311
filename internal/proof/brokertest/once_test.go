package brokertest_test

import (
	"context"
	"log"
	"strconv"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/internal/testenv"
)

//leat:level 1
func TestMain(m *testing.M) {
	if err := testenv.SideBySide(); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}

// patience limits every wait of a test. No test measures time.
const patience = 60 * time.Second

// connect returns a publisher and a subscriber of a consumer group.
type connect func(t *testing.T, group string) (message.Publisher, message.Subscriber)

// run runs Watermill's suite with the broker's features f. It also demands that each message is delivered
// once although it is published twice. oneByOne is set if the subscriber waits for the ack of each
// message.
func run(t *testing.T, f tests.Features, oneByOne bool, to connect) {
	t.Helper()
	t.Run("control", func(t *testing.T) { twiceWithout(t, to) })
	store := &meminbox.Store{}
	group := func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		t.Helper()
		publisher, subscriber := to(t, group)
		reader := newOnce(subscriber, group, store, oneByOne)
		t.Cleanup(func() { require.NoError(t, reader.Close()) }) // TestPublishSubscribeInOrder closes before it subscribes
		return twice{Publisher: publisher}, reader
	}
	f.ExactlyOnceDelivery, f.ConsumerGroups, f.Persistent, f.ForceShort = true, true, true, true
	tests.TestPubSub(t, f, func(t *testing.T) (message.Publisher, message.Subscriber) { return group(t, "all") }, group)
}

// twiceWithout is the control: without an inbox each message arrives twice.
func twiceWithout(t *testing.T, to connect) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	publisher, subscriber := to(t, "control")
	defer func() {
		require.NoError(t, publisher.Close())
		require.NoError(t, subscriber.Close())
	}()
	topic := "control_" + watermill.NewShortUUID()
	if s, ok := subscriber.(message.SubscribeInitializer); ok {
		require.NoError(t, s.SubscribeInitialize(topic))
	}
	messages, err := subscriber.Subscribe(ctx, topic)
	require.NoError(t, err)
	const n = 5
	for i := range n {
		require.NoError(t, twice{Publisher: publisher}.Publish(topic, message.NewMessage(strconv.Itoa(i), []byte("body"))))
	}
	seen := make(map[string]int)
	for range 2 * n {
		select {
		case m := <-messages:
			seen[m.UUID]++
			m.Ack()
		case <-ctx.Done():
			require.NoError(t, ctx.Err(), "got %v", seen)
		}
	}
	for id, copies := range seen {
		require.Equal(t, 2, copies, id)
	}
}
