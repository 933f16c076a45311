package memoutbox_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
)

func msg(key, payload string) outbox.Message {
	return outbox.Message{Topic: "orders", Key: key, Payload: []byte(payload)}
}

func payloads(msgs []outbox.Message) []string {
	out := make([]string, len(msgs))
	for i := range msgs {
		out[i] = string(msgs[i].Payload)
	}
	return out
}

func TestNewRefusesBadConfig(t *testing.T) {
	t.Parallel()
	_, err := memoutbox.New(memoutbox.Config{MaxPayloadBytes: -1})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "MaxPayloadBytes = -1")
}

func TestMaxPayloadBytes(t *testing.T) {
	t.Parallel()
	ob, err := memoutbox.New(memoutbox.Config{MaxPayloadBytes: 3})
	require.NoError(t, err)
	tx, err := ob.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, ob.Enqueue(t.Context(), tx, msg("", "123")))
	require.ErrorContains(t, ob.Enqueue(t.Context(), tx, msg("", "1234")), "is larger than 3 bytes")
}

func TestO1_OnlyItsOwnTransactions(t *testing.T) {
	t.Parallel()
	ob, other := newOutbox(t), newOutbox(t)
	tx, err := other.Begin(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, ob.Enqueue(t.Context(), nil, msg("", "x")), outbox.ErrNotInTransaction)
	require.ErrorIs(t, ob.Enqueue(t.Context(), tx, msg("", "x")), outbox.ErrWrongDatabase)
	require.ErrorIs(t, ob.EnqueueContext(memoutbox.ContextWithTx(t.Context(), tx), msg("", "x")), outbox.ErrWrongDatabase)
	require.ErrorIs(t, ob.EnqueueContext(memoutbox.ContextWithTx(t.Context(), nil), msg("", "x")), outbox.ErrNotInTransaction)
	require.ErrorIs(t, ob.EnqueueContext(txctx.With(t.Context(), "another's"), msg("", "x")), outbox.ErrNotInTransaction)
	require.Empty(t, ob.Messages())
	require.Empty(t, other.Messages())
}

func TestBeginUnderAnEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newOutbox(t).Begin(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestTransactionEndsOnce(t *testing.T) {
	t.Parallel()
	ob := newOutbox(t)
	for _, end := range []func(*memoutbox.Tx, context.Context) error{(*memoutbox.Tx).Commit, (*memoutbox.Tx).Rollback} {
		tx, err := ob.Begin(t.Context())
		require.NoError(t, err)
		require.NoError(t, end(tx, t.Context()))
		require.ErrorIs(t, tx.Commit(t.Context()), memoutbox.ErrTxEnded)
		require.ErrorIs(t, tx.Rollback(t.Context()), memoutbox.ErrTxEnded)
	}
}

func TestO1_CommitUnderAnEndedContextRollsBack(t *testing.T) {
	t.Parallel()
	ob := newOutbox(t)
	tx, err := ob.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, ob.Enqueue(t.Context(), tx, msg("k", "x")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, tx.Commit(ctx), context.Canceled)
	require.ErrorIs(t, tx.Commit(t.Context()), memoutbox.ErrTxEnded)
	require.Empty(t, ob.Messages())
}

// TestO5_WaitThatWasCutShortAborts shows that a transaction cannot commit the
// rest after one of its calls has failed half-way.
func TestO5_WaitThatWasCutShortAborts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob := newOutbox(t)
		holder, err := ob.Begin(t.Context())
		require.NoError(t, err)
		require.NoError(t, ob.Enqueue(t.Context(), holder, msg("k", "first")))

		tx, err := ob.Begin(t.Context())
		require.NoError(t, err)
		require.NoError(t, ob.Enqueue(t.Context(), tx, msg("", "before")))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, ob.Enqueue(ctx, tx, msg("k", "second")), context.DeadlineExceeded)
		require.ErrorIs(t, ob.Enqueue(t.Context(), tx, msg("", "after")), memoutbox.ErrTxAborted)
		require.ErrorIs(t, tx.Commit(t.Context()), memoutbox.ErrTxAborted)
		require.NoError(t, holder.Commit(t.Context()))
		require.Equal(t, []string{"first"}, payloads(ob.Messages()))
	})
}

// TestO5_WaiterNoticesItsOwnEnd ends a transaction while its Enqueue waits for
// a key.
func TestO5_WaiterNoticesItsOwnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob := newOutbox(t)
		holder, err := ob.Begin(t.Context())
		require.NoError(t, err)
		require.NoError(t, ob.Enqueue(t.Context(), holder, msg("k", "first")))
		tx, err := ob.Begin(t.Context())
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() { done <- ob.Enqueue(t.Context(), tx, msg("k", "second")) }()
		synctest.Wait()
		require.NoError(t, tx.Rollback(t.Context()))
		require.ErrorIs(t, <-done, outbox.ErrNotInTransaction)
		require.NoError(t, holder.Commit(t.Context()))
	})
}

func TestInTx(t *testing.T) {
	t.Parallel()
	ob := newOutbox(t)
	wakes := ob.Source(memoutbox.SourceConfig{}).Wakes(t.Context())

	failed := errors.New("handler failed")
	err := ob.InTx(t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
		require.NoError(t, ob.Enqueue(ctx, tx, msg("k", "lost")))
		return failed
	})
	require.ErrorIs(t, err, failed)
	require.Panics(t, func() {
		_ = ob.InTx(t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
			require.NoError(t, ob.Enqueue(ctx, tx, msg("k", "lost")))
			panic("handler panicked")
		})
	})
	require.Empty(t, wakes, "nothing has committed")

	err = ob.InTx(t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
		require.NoError(t, ob.Enqueue(ctx, tx, msg("k", "by tx")))
		return ob.EnqueueContext(ctx, msg("k", "by context"))
	})
	require.NoError(t, err)
	require.Len(t, wakes, 1)
	require.Equal(t, []string{"by tx", "by context"}, payloads(ob.Messages()))
}

func TestInTxReportsItsOwnErrors(t *testing.T) {
	t.Parallel()
	ob := newOutbox(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := ob.InTx(ctx, func(context.Context, *memoutbox.Tx) error {
		cancel()
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "leat: commit")
	require.ErrorContains(t, ob.InTx(ctx, nil), "leat: begin")
}

// TestCommittedIsInCommitOrder also changes what it was given, which must not
// change the outbox.
func TestCommittedIsInCommitOrder(t *testing.T) {
	t.Parallel()
	ob := newOutbox(t)
	late, err := ob.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, ob.Enqueue(t.Context(), late, msg("", "late")))
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
		m := msg("", "quick")
		m.Headers = map[string]string{"h": "1"}
		return ob.Enqueue(ctx, tx, m)
	}))
	require.NoError(t, late.Commit(t.Context()))

	records := ob.Committed()
	require.Len(t, records, 2)
	require.Equal(t, []int64{2, 1}, []int64{records[0].Seq, records[1].Seq})
	records[0].Payload[0] = 'X'
	records[0].Headers["h"] = "X"
	require.Equal(t, []string{"quick", "late"}, payloads(ob.Messages()))
	require.Equal(t, "1", ob.Messages()[0].Headers["h"])
}

// calls is an EnqueueHook.
type calls struct {
	msgs []outbox.Message
	errs []error
}

func (c *calls) OnOutboxEnqueue(_ context.Context, e outbox.EnqueueEvent) {
	c.msgs = append(c.msgs, e.Messages...)
	c.errs = append(c.errs, e.Err)
}

func TestHookAndInjector(t *testing.T) {
	t.Parallel()
	hook := &calls{}
	ob, err := memoutbox.New(memoutbox.Config{
		Hooks:    []outbox.Hook{hook},
		Injector: outbox.InjectorFunc(func(_ context.Context, h map[string]string) { h["traceparent"] = "00-1" }),
	})
	require.NoError(t, err)
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
		require.Error(t, ob.Enqueue(ctx, tx, outbox.Message{}))
		return ob.Enqueue(ctx, tx, msg("", "x"))
	}))
	require.Len(t, hook.errs, 2)
	require.ErrorIs(t, hook.errs[0], outbox.ErrInvalidMessage)
	require.NoError(t, hook.errs[1])
	require.Len(t, hook.msgs, 1)
	require.NotEmpty(t, hook.msgs[0].ID, "the hook sees the message as it was stored")
	require.Equal(t, "00-1", ob.Messages()[0].Headers["traceparent"])
}
