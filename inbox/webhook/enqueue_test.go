package webhook_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/inbox/webhook"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
)

// joined is a transaction of memoutbox.
type joined struct{ *memoutbox.Tx }

// joining returns an inbox whose transactions are those of ob, too.
func joining(t *testing.T, ob *memoutbox.Outbox) inbox.Runner {
	t.Helper()
	in, err := meminbox.New("gateway", meminbox.Config{
		Config: inbox.Config{BusyDelay: inbox.NoDelay},
		Join: func(ctx context.Context) (meminbox.Joined, error) {
			tx, err := ob.Begin(ctx)
			return joined{tx}, err
		},
	})
	require.NoError(t, err)
	return in
}

// TestEnqueue: an event goes into the outbox once, in the transaction of its inbox.
func TestEnqueue(t *testing.T) {
	t.Parallel()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	scheme, err := webhook.GitHub("It's a Secret to Everybody")
	require.NoError(t, err)
	enqueue, err := webhook.Enqueue(ob, "github", nil)
	require.NoError(t, err)
	wakes := 0
	h, err := webhook.New(scheme, joining(t, ob), enqueue, webhook.Config{AfterCommit: func() { wakes++ }})
	require.NoError(t, err)
	for range 3 {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/", nil)
		good := request("Hello, World!", "X-GitHub-Delivery", "d-1", "X-GitHub-Event", "push", "Content-Type", "application/json",
			"X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")
		r.Header, r.Body = good.Header, bodyOf(good.Body)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, 200, w.Code)
	}
	committed := ob.Committed()
	require.Len(t, committed, 1)
	m := committed[0].Message
	require.NotEqual(t, "d-1", m.ID, "ids of two senders may be the same")
	require.Equal(t, "github", m.Topic)
	require.Equal(t, "push", m.Type)
	require.Equal(t, "Hello, World!", string(m.Payload))
	require.Equal(t, map[string]string{"webhook-id": "d-1", "content-type": "application/json"}, m.Headers)
	require.Equal(t, 1, wakes)
}

// TestEnqueue_Convert: what it returns is enqueued; its error leaves nothing.
func TestEnqueue_Convert(t *testing.T) {
	t.Parallel()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	fail := errors.New("no key")
	var failure error
	enqueue, err := webhook.Enqueue(ob, "orders", func(msg *message.Message) (outbox.Message, error) {
		return outbox.Message{ID: "own-" + msg.UUID, Key: string(msg.Payload)}, failure
	})
	require.NoError(t, err)
	in := joining(t, ob)
	process := func() error {
		msg := message.NewMessage("e-1", []byte("key"))
		_, err := in.Process(t.Context(), msg, func(ctx context.Context) error { return enqueue(ctx, msg) })
		return err
	}
	failure = fail
	require.ErrorIs(t, process(), fail)
	require.Empty(t, ob.Committed())
	failure = nil
	require.NoError(t, process())
	require.Len(t, ob.Committed(), 1)
	require.Equal(t, outbox.Message{ID: "own-e-1", Topic: "orders", Key: "key", Payload: ob.Committed()[0].Payload}, ob.Committed()[0].Message)
	require.ErrorIs(t, enqueue(t.Context(), message.NewMessage("e-2", nil)), outbox.ErrNotInTransaction)

	_, err = webhook.Enqueue(nil, "orders", nil)
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	_, err = webhook.Enqueue(ob, "", nil)
	require.ErrorContains(t, err, "topic")
}
