package main

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// handleAlways breaks the rule that a message is remembered together with its
// effects: the handler has a transaction, and nothing tells a repeat.
func handleAlways(ob *pgoutbox.Outbox) message.HandlerMiddleware {
	return func(h message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			return nil, handleInTransaction(ob, msg, h)
		}
	}
}

// ackThenHandle breaks the rule that a message is acknowledged after the commit.
// It does remember messages, so that this is the only rule that it breaks.
func ackThenHandle(ob *pgoutbox.Outbox) message.HandlerMiddleware {
	return func(h message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			msg.SetContext(context.WithoutCancel(msg.Context())) // which the ack would cancel
			msg.Ack()
			return nil, handleInTransaction(ob, msg, func(msg *message.Message) ([]*message.Message, error) {
				ctx := msg.Context()
				tag, err := pginbox.Tx(ctx).Exec(ctx, `INSERT INTO seen VALUES ($1) ON CONFLICT DO NOTHING`, msg.UUID)
				if err != nil || tag.RowsAffected() == 0 {
					return nil, err
				}
				return h(msg)
			})
		}
	}
}

// handleInTransaction runs h and enqueues what it returns, in one transaction.
func handleInTransaction(ob *pgoutbox.Outbox, msg *message.Message, h message.HandlerFunc) error {
	before := msg.Context()
	defer msg.SetContext(before)
	return ob.InTx(before, func(ctx context.Context, tx pgx.Tx) error {
		msg.SetContext(ctx)
		produced, err := h(msg)
		if err != nil {
			return err
		}
		for _, p := range produced {
			m, err := outbox.FromWatermill(message.PublishTopicFromCtx(ctx), p, nil)
			if err != nil {
				return err
			}
			if err := ob.Enqueue(ctx, tx, m); err != nil {
				return err
			}
		}
		return nil
	})
}
