package pginbox

import (
	"context"
	"database/sql"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
)

// HandleBatch returns b's Process with a handler that gets the transaction of the
// batch; see inbox.Batch.Handle for what else it gets. B must be of an Inbox of
// New:
//
//	b, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
//	process := pginbox.HandleBatch(b, handle)
func HandleBatch(
	b *inbox.Batch, handle func(ctx context.Context, tx pgx.Tx, msgs []*message.Message) error,
) inbox.BatchFunc {
	return pgclaim.WrapBatch(b, handle, b.Handle(func(ctx context.Context, msgs []*message.Message) error {
		tx := Tx(ctx)
		if tx == nil {
			return pgclaim.ErrNoTx
		}
		return handle(ctx, tx, msgs)
	}))
}

// HandleBatchSQL is HandleBatch for database/sql. B must be of an Inbox of NewSQL.
func HandleBatchSQL(
	b *inbox.Batch, handle func(ctx context.Context, tx *sql.Tx, msgs []*message.Message) error,
) inbox.BatchFunc {
	return pgclaim.WrapBatch(b, handle, b.Handle(func(ctx context.Context, msgs []*message.Message) error {
		tx := SQLTx(ctx)
		if tx == nil {
			return pgclaim.ErrNoTx
		}
		return handle(ctx, tx, msgs)
	}))
}

// HandleBatchEach is HandleBatch for a handler of single messages, which is called for one
// after the other in the transaction that they share. A failure of one runs its neighbours
// again: inbox.Batch.HandleEach has the contract, which is why this is a choice and no
// default.
func HandleBatchEach(
	b *inbox.Batch, handle func(ctx context.Context, tx pgx.Tx, msg *message.Message) error,
) inbox.BatchFunc {
	return pgclaim.WrapBatch(b, handle, b.HandleEach(func(ctx context.Context, msg *message.Message) error {
		tx := Tx(ctx)
		if tx == nil {
			return pgclaim.ErrNoTx
		}
		return handle(ctx, tx, msg)
	}))
}

// HandleBatchEachSQL is HandleBatchEach for database/sql. B must be of an Inbox of NewSQL.
func HandleBatchEachSQL(
	b *inbox.Batch, handle func(ctx context.Context, tx *sql.Tx, msg *message.Message) error,
) inbox.BatchFunc {
	return pgclaim.WrapBatch(b, handle, b.HandleEach(func(ctx context.Context, msg *message.Message) error {
		tx := SQLTx(ctx)
		if tx == nil {
			return pgclaim.ErrNoTx
		}
		return handle(ctx, tx, msg)
	}))
}

// HandleBatchQueued is HandleBatch for a handler that knows one message at a time
// and needs no answer before it has asked all its questions: it queues its
// statements, and those of all messages are sent in one round trip, in order.
//
// A statement's callback runs when its result is there, before the commit, and an
// error of it undoes the message as one of the handler does. The batch is not the
// handler's to send. Simple protocol mode is not supported: a server's error could
// not be told which message it is about.
func HandleBatchQueued(
	b *inbox.Batch, handle func(ctx context.Context, queue *pgx.Batch, msg *message.Message) error,
) inbox.BatchFunc {
	return pgclaim.WrapBatch(b, handle, b.Handle(func(ctx context.Context, msgs []*message.Message) error {
		tx := Tx(ctx)
		if tx == nil {
			return pgclaim.ErrNoTx
		}
		queue := &pgx.Batch{}
		ends := make([]int, len(msgs)) // of each message's statements
		for i, msg := range msgs {
			if err := handle(msg.Context(), queue, msg); err != nil { //nolint:contextcheck // the message has one of its own
				return about(i, len(msgs), err)
			}
			ends[i] = queue.Len()
		}
		return sendQueued(ctx, tx, queue, ends)
	}))
}

// about names the message that err is about, if there are several.
func about(i, n int, err error) error {
	if n == 1 {
		return err
	}
	return &inbox.MessageError{Index: i, Err: err}
}
