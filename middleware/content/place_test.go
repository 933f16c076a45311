package content_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
)

func sealing(tb testing.TB) *content.Content {
	tb.Helper()
	return newContent(tb, content.Config{Seal: &content.Seal{Keys: newKeys()}})
}

// failing is a handler that fails with a text of its own.
func failing(msg *message.Message) ([]*message.Message, error) {
	if string(msg.Payload) != string(personal("").Payload) {
		return nil, fmt.Errorf("got %q", msg.Payload)
	}
	return nil, errAway
}

// TestC1_ParkedAsItCame: C1. Opened inside the inbox, a message that fails is stored sealed.
func TestC1_ParkedAsItCame(t *testing.T) {
	t.Parallel()
	c := sealing(t)
	for name, tt := range map[string]struct {
		inside, outside message.HandlerMiddleware
		clear           bool
	}{
		"inside": {c.Middleware, same, false},
		// The controls: outside, and by a middleware that leaves the payload open.
		"outside":          {same, c.Middleware, true},
		"not closed again": {leaveOpen(t, c), same, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var store meminbox.Store
			in := newInbox(t, &store, inbox.Policy{Action: inbox.Park, Attempts: 1})
			once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
			require.NoError(t, err)
			sealed := encode(t, c, personal("1"))
			_, err = tt.outside(once(tt.inside(failing)))(deliver(t, sealed))
			require.NoError(t, err)
			all := parked(t, &store)
			require.Len(t, all, 1)
			if tt.clear {
				require.Contains(t, string(all[0].Message.Payload), "Lovelace")
				return
			}
			require.Equal(t, string(sealed.Payload), string(all[0].Message.Payload))
			require.Equal(t, deliver(t, sealed).Metadata, all[0].Message.Metadata)
		})
	}
}

func same(h message.HandlerFunc) message.HandlerFunc { return h }

// leaveOpen is a middleware that forgets to put the payload back.
func leaveOpen(t *testing.T, c *content.Content) message.HandlerMiddleware {
	t.Helper()
	return func(h message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			payload, err := open(t, c, msg)
			if err != nil {
				return nil, err
			}
			msg.Payload = payload
			return h(msg)
		}
	}
}

// TestC2_RedriveOpensAgain: C2. What an operator redrives is stored sealed, and opened for
// the handler again.
func TestC2_RedriveOpensAgain(t *testing.T) {
	t.Parallel()
	c := sealing(t)
	var store meminbox.Store
	in := newInbox(t, &store, inbox.Policy{Action: inbox.Park, Attempts: 1})
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	require.NoError(t, err)
	_, err = once(c.Middleware(failing))(deliver(t, encode(t, c, personal("1"))))
	require.NoError(t, err)
	_, err = meminbox.NewAdmin(&store).Redrive(t.Context(), admin.ChangeRequest{
		By: admin.By{Actor: "test", Reason: "test"}, Selection: admin.Selection{ID: "1"}, Consumer: "loyalty",
	})
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	var got string
	require.NoError(t, middleware.RunRedrive(ctx, middleware.RedriveConfig{
		Processor: in, Handler: c.Middleware(func(msg *message.Message) ([]*message.Message, error) {
			got = string(msg.Payload)
			cancel()
			return nil, nil
		}),
	}))
	require.Equal(t, string(personal("").Payload), got)
}

// TestC3_TheIndexIsTheCallers: C3. Messages that are skipped shift what the handler counts.
func TestC3_TheIndexIsTheCallers(t *testing.T) {
	t.Parallel()
	keys := newKeys()
	c := newContent(t, content.Config{Seal: &content.Seal{Keys: keys, SkipForgotten: true}})
	var msgs []*message.Message
	for i, customer := range []string{"ada", "bob", "ada", "eve", "bob"} {
		m := personal(strconv.Itoa(i))
		m.Key = customer
		msgs = append(msgs, deliver(t, encode(t, c, m)))
	}
	keys.forget("ada")
	run := func(err error) (names []string, got error) {
		got = c.Batch(func(_ context.Context, msgs []*message.Message) error {
			for _, msg := range msgs {
				require.Equal(t, string(personal("").Payload), string(msg.Payload))
				names = append(names, msg.UUID)
			}
			return err
		})(t.Context(), msgs)
		for _, msg := range msgs {
			require.NotContains(t, string(msg.Payload), "Lovelace")
		}
		return names, got
	}
	names, err := run(nil)
	require.NoError(t, err)
	require.Equal(t, []string{"1", "3", "4"}, names)
	for given, want := range map[int]int{0: 1, 1: 3, 2: 4, 3: -1, -1: -1} {
		_, err := run(fmt.Errorf("handle: %w", &inbox.MessageError{Index: given, Err: errAway}))
		var named *inbox.MessageError
		require.ErrorAs(t, err, &named)
		require.Equal(t, want, named.Index)
		require.ErrorIs(t, err, errAway)
	}
	_, err = run(errAway)
	require.NotErrorAs(t, err, new(*inbox.MessageError))
	require.ErrorIs(t, err, errAway)

	msgs[3].Payload = []byte("poison") // the caller's index of what cannot be opened
	_, err = run(nil)
	var named *inbox.MessageError
	require.ErrorAs(t, err, &named)
	require.Equal(t, 3, named.Index)
	require.True(t, inbox.IsPermanent(err))

	keys.forget("bob")
	keys.forget("eve")
	names, err = run(errAway)
	require.NoError(t, err)
	require.Empty(t, names)
}

// TestC3_Batches: C3. In a batch of the inbox one message is parked, and the others run.
func TestC3_Batches(t *testing.T) {
	t.Parallel()
	c := sealing(t)
	var store meminbox.Store
	in := newInbox(t, &store, inbox.Policy{Action: inbox.Park, Attempts: 1})
	batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
	require.NoError(t, err)
	var msgs []*message.Message
	for i := range 10 {
		m := personal(strconv.Itoa(i))
		m.Key = fmt.Sprint("customer ", i)
		msgs = append(msgs, deliver(t, encode(t, c, m)))
	}
	msgs[7].Payload = append([]byte(nil), msgs[3].Payload...)
	done := map[string]bool{}
	errs := batch.Handle(c.Batch(func(ctx context.Context, msgs []*message.Message) error {
		for _, msg := range msgs {
			meminbox.OnCommit(ctx, func() { done[msg.UUID] = true })
		}
		return nil
	}))(t.Context(), msgs)
	require.NoError(t, errors.Join(errs...))
	require.Len(t, done, 9)
	all := parked(t, &store)
	require.Len(t, all, 1)
	require.Equal(t, "7", all[0].ID)
}

// TestC4_DeadLetters: C4. The sealing outbox takes a dead letter as it was read, and whoever
// reads it opens it by the id that the message had. Even the dead letter of a dead letter is
// stored.
func TestC4_DeadLetters(t *testing.T) {
	t.Parallel()
	keys := newKeys()
	c := newContent(t, content.Config{Seal: &content.Seal{Keys: keys}})
	letters := newContent(t, content.Config{Seal: &content.Seal{Keys: keys, ID: inbox.IDFromHeader("leat_dead_id")}})
	for name, tt := range map[string]struct {
		ob    func(ob outbox.Enqueuer) outbox.Enqueuer
		fails bool
	}{
		"through Content": {c.Enqueuer, false},
		// The control: a decorator that knows nothing of dead letters refuses them for ever.
		"by a decorator that refuses": {func(ob outbox.Enqueuer) outbox.Enqueuer { return refusing{ob} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob := newOutbox(t)
			var store meminbox.Store
			in, err := meminbox.New("loyalty", meminbox.Config{
				Store: &store,
				Config: inbox.Config{OnFailure: inbox.Policy{
					Action: inbox.DeadLetter, Attempts: 1, Topic: "dead", Outbox: tt.ob(ob), Delay: inbox.NoDelay,
				}},
				Join: joinTo(ob),
			})
			require.NoError(t, err)
			sealed := encode(t, c, personal("1"))
			handle := in.Handle(c.Handle(func(context.Context, *message.Message) error { return errAway }))
			require.NoError(t, handle(deliver(t, sealed)))
			if tt.fails {
				require.Empty(t, ob.Committed())
				require.Len(t, parked(t, &store), 1)
				return
			}
			all := ob.Committed()
			require.Len(t, all, 1)
			letter := all[0].Message
			require.Equal(t, string(sealed.Payload), string(letter.Payload))
			require.Equal(t, "1", letter.Headers["leat_dead_id"])
			require.Equal(t, "ada/0", letter.Headers["content-key"])
			require.NotContains(t, letter.Headers, "leat_opened")
			require.NotEqual(t, "1", letter.ID)

			_, err = open(t, c, deliver(t, letter))
			require.ErrorContains(t, err, "cannot be opened")
			payload, err := open(t, letters, deliver(t, letter))
			require.NoError(t, err)
			require.Equal(t, string(personal("").Payload), string(payload))
			shown, err := c.Show("dead", deliver(t, letter).Metadata, letter.Payload)
			require.NoError(t, err)
			require.Equal(t, string(payload), string(shown))
		})
	}
}

// refusing is a decorator that refuses what is sealed already.
type refusing struct{ outbox.Enqueuer }

func (r refusing) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	for _, m := range msgs {
		if m.Headers["content-key"] != "" {
			return &outbox.InvalidMessageError{Field: "Headers", Reason: "sealed already"}
		}
	}
	return r.Enqueuer.EnqueueContext(ctx, msgs...)
}

// joinTo has an inbox in memory commit with ob.
func joinTo(ob *memoutbox.Outbox) func(ctx context.Context) (meminbox.Joined, error) {
	return func(ctx context.Context) (meminbox.Joined, error) {
		tx, err := ob.Begin(ctx)
		return joined{tx}, err
	}
}

type joined struct{ *memoutbox.Tx }

func (j joined) Context(ctx context.Context) context.Context {
	return memoutbox.ContextWithTx(ctx, j.Tx)
}

// TestC4_ForwardersOpenFirst: C4. A handler may return the message that it got, its copy, or
// another one: what it returns is sealed anew, under an id of its own.
func TestC4_ForwardersOpenFirst(t *testing.T) {
	t.Parallel()
	c := newContent(t, content.Config{
		Seal: &content.Seal{Keys: newKeys()}, CloudEvents: &content.CloudEvents{Source: "/shop"},
	})
	for name, forward := range map[string]func(msg *message.Message) *message.Message{
		"itself": func(msg *message.Message) *message.Message { return msg },
		"a copy": func(msg *message.Message) *message.Message { return msg.Copy() },
		"another": func(msg *message.Message) *message.Message {
			other := message.NewMessage("other", msg.Payload)
			other.Metadata = msg.Metadata
			return other
		},
	} {
		for _, letter := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, dead letter %t", name, letter), func(t *testing.T) {
				t.Parallel()
				ob, sealed := newOutbox(t), encode(t, c, personal("1"))
				msg := deliver(t, sealed)
				if letter { // that was opened, and goes back: it is a dead letter no more
					msg.Metadata["leat_dead_id"] = "1"
				}
				in, err := meminbox.New("loyalty", meminbox.Config{Join: joinTo(ob)})
				require.NoError(t, err)
				once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in, Outbox: c.Enqueuer(ob)})
				require.NoError(t, err)
				route(t, msg, func(msg *message.Message) ([]*message.Message, error) {
					return []*message.Message{forward(msg)}, nil
				}, once, c.Middleware)
				all := ob.Committed()
				require.Len(t, all, 1)
				got := all[0].Message
				require.NotContains(t, string(got.Payload), "Lovelace")
				require.NotContains(t, got.Headers, "leat_opened")
				require.Equal(t, got.ID, got.Headers["ce_id"], "the attributes are those of the new message")
				payload, err := open(t, c, deliver(t, got))
				require.NoError(t, err)
				require.Equal(t, string(personal("").Payload), string(payload))
			})
		}
	}
}

// route runs msg through a handler of a router until it is acknowledged.
func route(t *testing.T, msg *message.Message, handle message.HandlerFunc, m ...message.HandlerMiddleware) {
	t.Helper()
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	require.NoError(t, err)
	broker := gochannel.NewGoChannel(gochannel.Config{Persistent: true, BlockPublishUntilSubscriberAck: true}, watermill.NopLogger{})
	router.AddHandler("forward", "in", broker, "out", nil, handle)
	router.AddMiddleware(m...)
	ran := make(chan error, 1)
	go func() { ran <- router.Run(t.Context()) }()
	<-router.Running()
	require.NoError(t, broker.Publish("in", msg))
	require.NoError(t, router.Close())
	require.NoError(t, <-ran)
}

// TestC4_SealedIsNotSealedAgain: C4.
func TestC4_SealedIsNotSealedAgain(t *testing.T) {
	t.Parallel()
	c := newContent(t, content.Config{
		Seal: &content.Seal{Keys: newKeys()}, Claim: &content.Claim{Blobs: newBlobs(), Over: 1},
		CloudEvents: &content.CloudEvents{Source: "/shop", Structured: true},
	})
	sealed := encode(t, c, personal("1"))
	for _, headers := range []map[string]string{
		sealed.Headers, {"content-key": "ada/0"}, {"content-claim": "1"}, {"content-type": "application/cloudevents+json; charset=UTF-8"},
	} {
		again := sealed
		again.Headers = headers
		ob := newOutbox(t)
		err := ob.InTx(t.Context(), func(ctx context.Context, _ *memoutbox.Tx) error {
			return c.Enqueuer(ob).EnqueueContext(ctx, personal("0"), again)
		})
		var invalid *outbox.InvalidMessageError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, 1, invalid.Index)
		require.ErrorContains(t, err, "open it first")
		require.Empty(t, ob.Committed())
	}
}

// TestC4_ADeadLetterOfWhatWasNotSealed: it is sealed, since this outbox holds no clear text.
// Without Seal it stays as it was read.
func TestC4_ADeadLetterOfWhatWasNotSealed(t *testing.T) {
	t.Parallel()
	m := personal("1")
	m.Headers["leat_dead_id"] = "0"
	c := sealing(t)
	got := encode(t, c, m)
	require.NotContains(t, string(got.Payload), "Lovelace")
	shown, err := c.Show("dead", deliver(t, got).Metadata, got.Payload)
	require.NoError(t, err)
	require.Equal(t, string(m.Payload), string(shown))
	m.Headers["content-type"] = "application/cloudevents+json"
	events := newContent(t, content.Config{CloudEvents: &content.CloudEvents{Source: "/shop", Structured: true}})
	require.Equal(t, m, encode(t, events, m))
}

// TestC5_Show: C5. A dashboard needs the id and the type, which a record's headers lack.
func TestC5_Show(t *testing.T) {
	t.Parallel()
	c := sealing(t)
	m := encode(t, c, personal("1"))
	_, err := c.Show("customers", m.Headers, m.Payload)
	require.ErrorContains(t, err, "cannot be opened")
	metadata := outbox.ToWatermill(&outbox.Record{Message: m}).Metadata
	shown, err := c.Show("customers", metadata, m.Payload)
	require.NoError(t, err)
	require.Equal(t, string(personal("").Payload), string(shown))
	require.Equal(t, outbox.ToWatermill(&outbox.Record{Message: m}).Metadata, metadata)
}
