package kafkasource_test

import (
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// The numbers of messages and publishers of each pair in TestReconnect.
const (
	reconnectMessages   = 5000
	reconnectPublishers = 50
)

// A7: TestReconnect: the broker is killed twice while publishers write and retry after errors. All
// messages arrive, and no pair gets stuck. It follows Watermill's test of that name, for all pairs at
// once.
//
//leat:level 4
func TestReconnect(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a broker three times")
	server := testenv.PrivateKafka(t)
	pairs := map[string][2]side{
		"outbox":           {throughOutbox(t), subscribing(grouped)},
		"their-subscriber": {throughOutbox(t), theirs()},
		"their-publisher":  {theirs(), subscribing(grouped)},
	}
	first, second := newKill(reconnectMessages/3, len(pairs)), newKill(reconnectMessages/2, len(pairs))
	arrived := make(map[string]chan struct{})
	for name, pair := range pairs {
		pub, err := pair[0].publisher(server.Brokers)
		require.NoError(t, err)
		sub, err := pair[1].subscriber(server.Brokers, name)
		require.NoError(t, err)
		arrived[name] = reconnect(t, name, pub, sub, first, second)
	}
	for _, k := range []*kill{first, second} {
		for range pairs {
			await(t, k.near, "the publishers go on")
		}
		close(k.now)
		server.Kill()
		server.Start()
	}
	late := time.After(5 * time.Minute)
	for name, all := range arrived {
		select {
		case <-all:
		case <-late:
			require.Fail(t, "messages are missing", name)
		}
	}
}

// kill is one kill of the broker. All publishers wait for it before the message with this number.
type kill struct {
	at   int
	near chan struct{}
	now  chan struct{}
}

func newKill(at, pairs int) *kill {
	return &kill{at: at, near: make(chan struct{}, pairs), now: make(chan struct{})}
}

// reconnect writes to topic and reads it until the test ends. The returned channel is closed when all
// messages have arrived.
func reconnect(t *testing.T, topic string, pub message.Publisher, sub message.Subscriber, kills ...*kill) chan struct{} {
	t.Helper()
	msgs := initialized(t, sub, topic)
	ids, left := make([]string, reconnectMessages), make(map[string]bool, reconnectMessages)
	for i := range ids {
		ids[i] = uuid.NewString()
		left[ids[i]] = true
	}
	work, stop, all := make(chan string), make(chan struct{}), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { feed(work, stop, ids, kills) })
	for range reconnectPublishers {
		running.Go(func() { keepPublishing(pub, topic, work, stop) })
	}
	running.Go(func() {
		for msg := range msgs {
			if delete(left, msg.UUID); len(left) == 0 {
				close(all)
				left[""] = true // so that repeats do not close it again
			}
			msg.Ack()
		}
	})
	t.Cleanup(func() {
		close(stop)
		require.NoError(t, pub.Close())
		require.NoError(t, sub.Close())
		running.Wait()
	})
	return all
}

// initialized subscribes to a topic that sub has created.
func initialized(t *testing.T, sub message.Subscriber, topic string) <-chan *message.Message {
	t.Helper()
	initializer, ok := sub.(message.SubscribeInitializer)
	require.True(t, ok)
	require.NoError(t, initializer.SubscribeInitialize(topic))
	msgs, err := sub.Subscribe(t.Context(), topic)
	require.NoError(t, err)
	return msgs
}

// feed sends ids to work, and waits for the kills at their numbers.
func feed(work chan<- string, stop <-chan struct{}, ids []string, kills []*kill) {
	defer close(work)
	for n, id := range ids {
		for _, k := range kills {
			if n != k.at {
				continue
			}
			k.near <- struct{}{}
			select {
			case <-k.now:
			case <-stop:
				return
			}
		}
		select {
		case work <- id:
		case <-stop:
			return
		}
	}
}

// keepPublishing publishes each message of work, and retries until it succeeds.
func keepPublishing(pub message.Publisher, topic string, work <-chan string, stop <-chan struct{}) {
	for id := range work {
		for pub.Publish(topic, message.NewMessage(id, []byte("x"))) != nil {
			select {
			case <-stop:
				return
			case <-time.After(500 * time.Millisecond):
			}
		}
	}
}
