package kafkasource_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// initialized subscribes to a topic that sub makes.
func initialized(t *testing.T, sub message.Subscriber) <-chan *message.Message {
	t.Helper()
	initializer, ok := sub.(message.SubscribeInitializer)
	require.True(t, ok)
	require.NoError(t, initializer.SubscribeInitialize("topic"))
	msgs, err := sub.Subscribe(t.Context(), "topic")
	require.NoError(t, err)
	return msgs
}

// R1: TestReconnect: the broker is killed twice while a hundred publishers write ten
// thousand messages, trying again after an error. All of them arrive, and nobody stands
// still. It is the course of Watermill's test of that name.
func TestReconnect(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a broker three times")
	const total, publishers = 10_000, 100
	server := testenv.PrivateKafka(t)
	us := ours(grouped)
	pub, err := us.publisher(server.Brokers)
	require.NoError(t, err)
	sub, err := us.subscriber(server.Brokers, "group")
	require.NoError(t, err)
	msgs := initialized(t, sub)

	work, written, stop := make(chan string), atomic.Int64{}, make(chan struct{})
	var writers sync.WaitGroup
	for range publishers {
		writers.Go(func() {
			for id := range work {
				for pub.Publish("topic", message.NewMessage(id, []byte("x"))) != nil {
					select {
					case <-stop:
						return
					case <-time.After(500 * time.Millisecond):
					}
				}
				written.Add(1)
			}
		})
	}
	reached := map[int]chan struct{}{total / 3: make(chan struct{}), total / 2: make(chan struct{})}
	ids, left := make([]string, total), make(map[string]bool, total)
	for i := range ids {
		ids[i] = uuid.NewString()
		left[ids[i]] = true
	}
	writers.Go(func() {
		defer close(work)
		for n, id := range ids {
			select {
			case work <- id:
			case <-stop:
				return
			}
			if ch, ok := reached[n]; ok {
				close(ch)
			}
		}
	})
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for msg := range msgs {
			if delete(left, msg.UUID); len(left) == 0 {
				close(done)
				left[""] = true // so that repeats do not close it again
			}
			msg.Ack()
		}
	})
	t.Cleanup(func() {
		close(stop)
		require.NoError(t, pub.Close())
		require.NoError(t, sub.Close())
		writers.Wait()
		reader.Wait()
	})
	for _, n := range []int{total / 3, total / 2} {
		await(t, reached[n], "the publishers go on")
		server.Kill()
		server.Start()
	}
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		require.Fail(t, "messages are missing", "%d were written", written.Load())
	}
}
