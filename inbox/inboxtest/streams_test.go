package inboxtest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/outbox"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stream is a subscriber that has all its messages in flight at once.
type stream struct {
	msgs    []*message.Message
	endless bool
	topics  []string
	closing chan struct{}
	once    sync.Once
	running sync.WaitGroup
}

func newStream(msgs ...*message.Message) *stream {
	return &stream{msgs: msgs, closing: make(chan struct{})}
}

func (s *stream) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	out := make(chan *message.Message)
	s.running.Go(func() {
		defer close(out)
		for _, msg := range s.msgs {
			select {
			case out <- msg:
			case <-s.closing:
				return
			}
		}
		if s.endless {
			select {
			case <-s.closing:
			case <-ctx.Done():
			}
		}
	})
	return out, nil
}

func (s *stream) SubscribeInitialize(topic string) error {
	s.topics = append(s.topics, topic)
	return nil
}

func (s *stream) Close() error {
	s.once.Do(func() { close(s.closing) })
	s.running.Wait()
	return nil
}

// shelf is a publisher that keeps the ids of messages, by topic.
type shelf struct {
	ids    map[string][]string
	closed bool
	err    error
}

func (s *shelf) Publish(topic string, msgs ...*message.Message) error {
	if s.ids == nil {
		s.ids = make(map[string][]string)
	}
	for _, m := range msgs {
		s.ids[topic] = append(s.ids[topic], m.UUID)
	}
	return s.err
}

func (s *shelf) Close() error {
	s.closed = true
	return nil
}

// numbered returns n messages of each key, with the keys in turn.
func numbered(n int, keys ...string) []*message.Message {
	var msgs []*message.Message
	for i := range n {
		for _, key := range keys {
			msg := message.NewMessage(fmt.Sprintf("%s%d", key, i), nil)
			msg.Metadata.Set(outbox.HeaderKey, key)
			msgs = append(msgs, msg)
		}
	}
	return msgs
}

func keyOf(msg *message.Message) string { return msg.Metadata.Get(outbox.HeaderKey) }

// publish returns the order in which decorate publishes msgs.
func publish(t *testing.T, decorate message.PublisherDecorator, msgs ...*message.Message) []string {
	t.Helper()
	s := &shelf{}
	pub, err := decorate(s)
	require.NoError(t, err)
	for _, msg := range msgs {
		require.NoError(t, pub.Publish("topic", msg))
	}
	require.NoError(t, pub.Close())
	require.True(t, s.closed)
	return s.ids["topic"]
}

// receive acks all messages of sub, and returns their ids.
func receive(t *testing.T, decorate message.SubscriberDecorator, inner message.Subscriber) []string {
	t.Helper()
	sub, err := decorate(inner)
	require.NoError(t, err)
	msgs, err := sub.Subscribe(t.Context(), "topic")
	require.NoError(t, err)
	var ids []string
	for msg := range msgs {
		ids = append(ids, msg.UUID)
		require.True(t, msg.Ack())
	}
	require.NoError(t, sub.Close())
	return ids
}

// TestI1_UnderRepeatsInAnyOrder: behind a duplicator and a reorderer, an inbox makes each effect happen
// once. Without the inbox, as the negative control, there are more effects.
func TestI1_UnderRepeatsInAnyOrder(t *testing.T) {
	t.Parallel()
	in, err := meminbox.New("tester", meminbox.Config{Config: inbox.Config{BusyDelay: inbox.NoDelay}})
	require.NoError(t, err)
	msgs := numbered(50, "a", "b")
	inner, err := inboxtest.Duplicator{Seed: 3, Late: 10, Concurrent: true}.Subscriber(newStream(msgs...))
	require.NoError(t, err)
	sub, err := inboxtest.Reorderer{Seed: 3}.Subscriber(inner)
	require.NoError(t, err)
	got, err := sub.Subscribe(t.Context(), "topic")
	require.NoError(t, err)
	var mu sync.Mutex
	runs, effects := make(map[string]int), make(map[string]int)
	var handlers sync.WaitGroup
	for msg := range got {
		handlers.Go(func() {
			mu.Lock()
			runs[msg.UUID]++
			mu.Unlock()
			for {
				_, err := in.Process(t.Context(), msg, func(ctx context.Context) error {
					meminbox.OnCommit(ctx, func() {
						mu.Lock()
						defer mu.Unlock()
						effects[msg.UUID]++
					})
					return nil
				})
				if err == nil {
					break
				}
			}
			msg.Ack()
		})
	}
	handlers.Wait()
	require.NoError(t, sub.Close())
	doubled := 0
	for _, msg := range msgs {
		require.Equal(t, 1, effects[msg.UUID])
		if runs[msg.UUID] > 1 {
			doubled++
		}
		<-msg.Acked()
	}
	require.Greater(t, doubled, 20, "there must be repeats to suppress")
}
