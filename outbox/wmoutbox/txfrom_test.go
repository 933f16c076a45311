package wmoutbox_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

// ownKey is the key under which a team keeps its transactions.
type ownKey struct{}

func ownTx(ctx context.Context) (any, bool) {
	tx, ok := ctx.Value(ownKey{}).(*fakeTx)
	return tx, ok
}

func withOwnTx(ctx context.Context, tx *fakeTx) context.Context {
	return context.WithValue(ctx, ownKey{}, tx)
}

// A6: a transaction under a key of the team's own is the one that a message is enqueued
// in, and all that holds of leat's own key holds of it.
func TestA6_TransactionUnderAnotherKey(t *testing.T) {
	t.Parallel()
	theirs, ours := &fakeTx{name: "theirs"}, &fakeTx{name: "ours"}
	ctx := t.Context()
	for name, c := range map[string]struct {
		contexts []context.Context
		want     *fakeTx
		err      error
	}{
		"their key":                {[]context.Context{withOwnTx(ctx, theirs)}, theirs, nil},
		"their key in two":         {[]context.Context{withOwnTx(ctx, theirs), withOwnTx(ctx, theirs)}, theirs, nil},
		"ours, as in an inbox":     {[]context.Context{txctx.With(ctx, ours)}, ours, nil},
		"theirs comes before ours": {[]context.Context{withOwnTx(txctx.With(ctx, ours), theirs)}, theirs, nil},
		"none":                     {[]context.Context{ctx}, nil, outbox.ErrNotInTransaction},
		"two": {
			[]context.Context{withOwnTx(ctx, theirs), withOwnTx(ctx, ours)}, nil, wmoutbox.ErrMixedTransactions,
		},
		"one each": {
			[]context.Context{withOwnTx(ctx, theirs), txctx.With(ctx, ours)}, nil, wmoutbox.ErrMixedTransactions,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := &recorder{}
			pub := newPublisher(t, rec, wmoutbox.Config{TxFrom: ownTx})
			msgs := messagesOf(c.contexts...)

			require.ErrorIs(t, pub.Publish("orders", msgs...), c.err)

			if c.err != nil {
				require.Empty(t, rec.seen())
				return
			}
			require.Len(t, rec.seen(), 1)
			require.Same(t, c.want, rec.seen()[0].tx)
			require.Len(t, rec.seen()[0].msgs, len(msgs))
		})
	}
}

// A6: without TxFrom their key is none of ours.
func TestA6_WithoutTxFromOtherKeysAreUnknown(t *testing.T) {
	t.Parallel()
	pub := newPublisher(t, &recorder{}, wmoutbox.Config{})
	err := pub.Publish("orders", messagesOf(withOwnTx(t.Context(), &fakeTx{}))...)
	require.ErrorIs(t, err, outbox.ErrNotInTransaction)
}

// messagesOf returns a message of each context.
func messagesOf(contexts ...context.Context) []*message.Message {
	msgs := make([]*message.Message, len(contexts))
	for i, ctx := range contexts {
		msgs[i] = newMessage(ctx, string(rune('a'+i)))
	}
	return msgs
}
