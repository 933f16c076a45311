package middleware_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

var errHandler = errors.New("the handler fails")

// memory is an outbox whose messages join the transactions of meminbox.
type memory struct {
	committed []outbox.Message
	wakes     int
	err       error
}

func (m *memory) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	if ctx.Err() != nil || !meminbox.OnCommit(ctx, func() { m.committed = append(m.committed, msgs...) }) {
		return outbox.ErrNotInTransaction
	}
	return m.err
}

func (m *memory) Wake() { m.wakes++ }

func newInbox(t *testing.T) *meminbox.Inbox {
	t.Helper()
	in, err := meminbox.New("tester", meminbox.Config{Config: inbox.Config{BusyDelay: inbox.NoDelay}})
	require.NoError(t, err)
	return in
}

// routed returns a message as a handler that publishes to "out" gets it.
func routed(t *testing.T, id string) *message.Message {
	t.Helper()
	msgs := make(chan *message.Message, 1)
	msg := message.NewMessageWithContext(t.Context(), id, nil)
	captureContext(t, msg, msgs)
	return <-msgs
}

func respond(ids ...string) message.HandlerFunc {
	return func(*message.Message) ([]*message.Message, error) {
		var out []*message.Message
		for _, id := range ids {
			m := message.NewMessage(id, []byte("payload of "+id))
			m.Metadata.Set("leat_key", "key of "+id)
			out = append(out, m)
		}
		return out, nil
	}
}

func TestI2_ReturnedMessagesGoToTheOutbox(t *testing.T) {
	t.Parallel()
	ob := &memory{}
	h := must(middleware.NewInbox(middleware.InboxConfig{Processor: newInbox(t), Outbox: ob}))(respond("x", "y"))

	for range 2 {
		produced, err := h(routed(t, "a"))
		require.NoError(t, err)
		require.Empty(t, produced, "the router would publish them")
	}

	require.Equal(t, []outbox.Message{
		{ID: "x", Topic: "out", Key: "key of x", Payload: []byte("payload of x")},
		{ID: "y", Topic: "out", Key: "key of y", Payload: []byte("payload of y")},
	}, ob.committed)
	require.Equal(t, 1, ob.wakes, "a duplicate has nothing to announce")
}

func TestInboxUsesTheKeyFunc(t *testing.T) {
	t.Parallel()
	ob := &memory{}
	key := func(topic string, msg *message.Message) (string, error) {
		if msg.UUID == "bad" {
			return "", errHandler
		}
		return topic + "/" + msg.UUID, nil
	}
	once := must(middleware.NewInbox(middleware.InboxConfig{Processor: newInbox(t), Outbox: ob, KeyFunc: key}))

	_, err := once(respond("x"))(routed(t, "a"))
	require.NoError(t, err)
	_, err = once(respond("bad"))(routed(t, "b"))
	require.ErrorIs(t, err, errHandler)
	require.Len(t, ob.committed, 1)
	require.Equal(t, "out/x", ob.committed[0].Key)
}

func TestInboxRefusesWhatAHandlerReturns(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cfg  middleware.InboxConfig
		msg  func(t *testing.T) *message.Message
		want error
		says string
	}{
		"no outbox": {
			middleware.InboxConfig{Processor: newInbox(t)},
			func(t *testing.T) *message.Message { t.Helper(); return routed(t, "a") },
			middleware.ErrNoDestination, "set Outbox",
		},
		"no topic": {
			middleware.InboxConfig{Processor: newInbox(t), Outbox: &memory{}},
			func(*testing.T) *message.Message { return message.NewMessage("a", nil) },
			middleware.ErrNoDestination, "the handler has no topic to publish to",
		},
		"full outbox": {
			middleware.InboxConfig{Processor: newInbox(t), Outbox: &memory{err: errHandler}},
			func(t *testing.T) *message.Message { t.Helper(); return routed(t, "a") },
			errHandler, "enqueue the handler's messages",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := must(middleware.NewInbox(tt.cfg))(respond("x"))(tt.msg(t))
			require.ErrorIs(t, err, tt.want)
			require.ErrorContains(t, err, tt.says)
			if ob, ok := tt.cfg.Outbox.(*memory); ok {
				require.Empty(t, ob.committed)
				require.Zero(t, ob.wakes)
			}
		})
	}
}

func TestInboxReturnsTheHandlersError(t *testing.T) {
	t.Parallel()
	ob := &memory{}
	h := must(middleware.NewInbox(middleware.InboxConfig{Processor: newInbox(t), Outbox: ob}))(func(*message.Message) ([]*message.Message, error) {
		return []*message.Message{message.NewMessage("x", nil)}, errHandler
	})

	produced, err := h(routed(t, "a"))

	require.Equal(t, errHandler, err)
	require.Empty(t, produced)
	require.Empty(t, ob.committed)
	require.Zero(t, ob.wakes)
}
