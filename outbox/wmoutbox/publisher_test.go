package wmoutbox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

var errBoom = errors.New("boom")

func newMessage(ctx context.Context, uuid string) *message.Message {
	msg := message.NewMessageWithContext(ctx, uuid, []byte("body of "+uuid))
	msg.Metadata.Set(outbox.HeaderKey, "key of "+uuid)
	msg.Metadata.Set("x", uuid)
	return msg
}

func newPublisher(t *testing.T, ob outbox.Enqueuer, cfg wmoutbox.Config) *wmoutbox.Publisher {
	t.Helper()
	pub, err := wmoutbox.NewPublisher(ob, cfg)
	require.NoError(t, err)
	return pub
}

func TestPublisherEnqueuesABatchInOneCall(t *testing.T) {
	t.Parallel()
	tx := &fakeTx{name: "one"}
	// The same transaction in contexts of their own, as separate spans make them.
	first, second := txctx.With(t.Context(), tx), txctx.With(t.Context(), tx)
	rec := &recorder{}
	pub := newPublisher(t, rec, wmoutbox.Config{})

	require.NoError(t, pub.Publish("orders", newMessage(first, "a"), newMessage(second, "b")))

	calls := rec.seen()
	require.Len(t, calls, 1)
	require.Same(t, tx, calls[0].tx)
	require.Equal(t, []outbox.Message{
		{ID: "a", Topic: "orders", Key: "key of a", Payload: []byte("body of a"), Headers: map[string]string{"x": "a"}},
		{ID: "b", Topic: "orders", Key: "key of b", Payload: []byte("body of b"), Headers: map[string]string{"x": "b"}},
	}, calls[0].msgs)
}

func TestPublisherRefusesWhatIsInNoTransaction(t *testing.T) {
	t.Parallel()
	in := txctx.With(t.Context(), &fakeTx{name: "one"})
	tests := map[string][]*message.Message{
		"no context":         {message.NewMessage("lonely", nil)},
		"another context":    {newMessage(t.Context(), "lonely")},
		"last of the batch":  {newMessage(in, "a"), newMessage(in, "b"), newMessage(t.Context(), "lonely")},
		"first of the batch": {newMessage(t.Context(), "lonely"), newMessage(in, "b")},
	}
	for name, msgs := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := &recorder{}
			err := newPublisher(t, rec, wmoutbox.Config{}).Publish("orders", msgs...)
			require.ErrorIs(t, err, outbox.ErrNotInTransaction)
			require.ErrorContains(t, err, `message "lonely"`)
			require.ErrorContains(t, err, `"orders"`)
			require.Empty(t, rec.seen(), "nothing of the batch may be enqueued")
		})
	}
}

func TestPublisherRefusesMixedTransactions(t *testing.T) {
	t.Parallel()
	with := func(tx any) context.Context { return txctx.With(t.Context(), tx) }
	one := &fakeTx{name: "same content"}
	odd := oddTx{statements: []string{"BEGIN"}}
	tests := map[string][2]context.Context{
		"two of a type":   {with(one), with(&fakeTx{name: "same content"})},
		"two types":       {with(one), with(odd)},
		"not comparable":  {with(odd), with(odd)},
		"value, not same": {with(fakeTx{name: "a"}), with(fakeTx{name: "b"})},
	}
	for name, ctxs := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := &recorder{}
			err := newPublisher(t, rec, wmoutbox.Config{}).
				Publish("orders", newMessage(ctxs[0], "a"), newMessage(ctxs[1], "b"))
			require.ErrorIs(t, err, wmoutbox.ErrMixedTransactions)
			require.ErrorContains(t, err, `messages "a" and "b"`)
			require.Empty(t, rec.seen())
		})
	}
}

func TestPublisherComparesNothingWithinOneContext(t *testing.T) {
	t.Parallel()
	ctx := txctx.With(t.Context(), oddTx{statements: []string{"BEGIN"}})
	rec := &recorder{}
	require.NoError(t, newPublisher(t, rec, wmoutbox.Config{}).
		Publish("orders", newMessage(ctx, "a"), newMessage(ctx, "b")))
	require.Len(t, rec.seen(), 1)
}

func TestPublisherUsesTheKeyFunc(t *testing.T) {
	t.Parallel()
	ctx := txctx.With(t.Context(), &fakeTx{})
	rec := &recorder{}
	pub := newPublisher(t, rec, wmoutbox.Config{Key: func(topic string, msg *message.Message) (string, error) {
		if msg.UUID == "bad" {
			return "", errBoom
		}
		return topic + "/" + msg.UUID, nil
	}})

	require.NoError(t, pub.Publish("orders", newMessage(ctx, "a")))
	require.ErrorIs(t, pub.Publish("orders", newMessage(ctx, "b"), newMessage(ctx, "bad")), errBoom)

	calls := rec.seen()
	require.Len(t, calls, 1, "a batch with a bad key is not enqueued in part")
	require.Equal(t, "orders/a", calls[0].msgs[0].Key)
}

func TestPublisherPassesTheOutboxErrorOn(t *testing.T) {
	t.Parallel()
	ctx := txctx.With(t.Context(), &fakeTx{})
	pub := newPublisher(t, &recorder{err: errBoom}, wmoutbox.Config{})

	err := pub.Publish("orders", newMessage(ctx, "a"))
	require.ErrorIs(t, err, errBoom)
	require.ErrorContains(t, err, `message "a" for topic "orders"`)

	err = pub.Publish("orders", newMessage(ctx, "a"), newMessage(ctx, "b"))
	require.ErrorIs(t, err, errBoom)
	require.ErrorContains(t, err, `2 messages from "a"`)
}

func TestPublisherRefusesANilMessage(t *testing.T) {
	t.Parallel()
	ctx := txctx.With(t.Context(), &fakeTx{})
	rec := &recorder{}
	err := newPublisher(t, rec, wmoutbox.Config{}).Publish("orders", newMessage(ctx, "a"), nil)
	require.ErrorIs(t, err, outbox.ErrInvalidMessage)
	require.ErrorContains(t, err, "messages[1]")
	require.Empty(t, rec.seen())
}

func TestPublisherWithoutMessagesDoesNothing(t *testing.T) {
	t.Parallel()
	rec := &recorder{err: errBoom}
	require.NoError(t, newPublisher(t, rec, wmoutbox.Config{}).Publish("orders"))
	require.Empty(t, rec.seen())
}

func TestPublisherIsUsableAfterClose(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	pub := newPublisher(t, rec, wmoutbox.Config{})
	require.NoError(t, pub.Close())
	require.NoError(t, pub.Publish("orders", newMessage(txctx.With(t.Context(), &fakeTx{}), "a")))
	require.Len(t, rec.seen(), 1)
}

func TestNewRefusesNil(t *testing.T) {
	t.Parallel()
	_, err := wmoutbox.NewPublisher(nil, wmoutbox.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}
