package meminbox

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
)

// joined is a transaction of memoutbox.
type joined struct{ *memoutbox.Tx }

func (j joined) Context(ctx context.Context) context.Context {
	return memoutbox.ContextWithTx(ctx, j.Tx)
}

func TestI2_JoinTakesAnOutboxAlong(t *testing.T) {
	t.Parallel()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	in, err := New("tester", Config{Join: func(ctx context.Context) (Joined, error) {
		tx, err := ob.Begin(ctx)
		return joined{tx}, err
	}})
	require.NoError(t, err)
	effects := 0
	handle := func(fail error) func(context.Context) error {
		return func(ctx context.Context) error {
			OnCommit(ctx, func() { effects++ })
			return errors.Join(ob.EnqueueContext(ctx, outbox.Message{ID: "child", Topic: "out"}), fail)
		}
	}

	for _, fail := range []error{errBroken, nil, nil} {
		_, err := in.Process(t.Context(), message.NewMessage("a", nil), handle(fail))
		require.ErrorIs(t, err, fail)
	}

	require.Equal(t, 1, effects)
	require.Len(t, ob.Messages(), 1)
}

func TestJoinThatFails(t *testing.T) {
	t.Parallel()
	for name, join := range map[string]func(context.Context) (Joined, error){
		"begin":  func(context.Context) (Joined, error) { return nil, errBroken },
		"no tx":  func(context.Context) (Joined, error) { return nil, nil },
		"commit": func(context.Context) (Joined, error) { return brokenJoin{}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var store Store
			in, err := New("tester", Config{Store: &store, Join: join})
			require.NoError(t, err)
			outcome, err := in.Process(t.Context(), message.NewMessage("a", nil), func(ctx context.Context) error {
				OnCommit(ctx, func() { t.Error("committed") })
				return nil
			})
			require.Error(t, err)
			require.Equal(t, inbox.OutcomeFailed, outcome)
			require.False(t, store.Recorded("tester", "a"))

			in, err = New("tester", Config{Store: &store})
			require.NoError(t, err)
			outcome, err = in.Process(t.Context(), message.NewMessage("a", nil), func(context.Context) error { return nil })
			require.NoError(t, err)
			require.Equal(t, inbox.OutcomeCommitted, outcome, "the claim must be free again")
		})
	}
}

type brokenJoin struct{}

func (brokenJoin) Context(ctx context.Context) context.Context { return ctx }
func (brokenJoin) Commit(context.Context) error                { return errBroken }
func (brokenJoin) Rollback(context.Context) error              { return nil }
