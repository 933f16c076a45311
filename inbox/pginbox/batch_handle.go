package pginbox

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
)

// HandleBatchQueued is b's Handle for a handler of single messages that needs no result before it
// has queued all its statements. The statements of all messages are sent in one round trip, in
// order. B must be of an Inbox of New:
//
//	b, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
//	process := pginbox.HandleBatchQueued(b, handle)
//
// A statement's callback runs when its result arrives, before the commit. An error from it undoes
// the message like an error from the handler. The handler must not send the batch. Simple
// protocol mode is not supported: it would not show which message a server's error belongs to.
func HandleBatchQueued(
	b *inbox.Batch, handle func(ctx context.Context, queue *pgx.Batch, msg *message.Message) error,
) inbox.BatchFunc {
	return pgclaim.WrapBatch(b, handle, b.Handle(func(ctx context.Context, msgs []*message.Message) error {
		tx := Tx(ctx)
		if tx == nil {
			return pgclaim.ErrNoTx
		}
		queue := &pgx.Batch{}
		ends := make([]int, len(msgs)) // ends of each message's statements
		for i, msg := range msgs {
			if err := handle(msg.Context(), queue, msg); err != nil { //nolint:contextcheck // the message has one of its own
				return about(i, len(msgs), err)
			}
			ends[i] = queue.Len()
		}
		return sendQueued(ctx, tx, queue, ends)
	}))
}

// about adds to err the message that it is about, if there are several.
func about(i, n int, err error) error {
	if n == 1 {
		return err
	}
	return &inbox.MessageError{Index: i, Err: err}
}
