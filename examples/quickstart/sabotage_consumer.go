package main

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// handleAlways breaks the rule that a message is remembered together with its
// effects: the handler has a transaction, and nothing tells a repeat.
func handleAlways[Tx any](ob transactor[Tx]) message.HandlerMiddleware {
	return func(h message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			return nil, handleInTransaction(ob, msg, func(_ any, msg *message.Message) ([]*message.Message, error) { return h(msg) })
		}
	}
}

// ackThenHandle breaks the rule that a message is acknowledged after the commit.
// It does remember messages, so that this is the only rule that it breaks.
func ackThenHandle[Tx any](s settings, ob transactor[Tx]) message.HandlerMiddleware {
	return func(h message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			msg.SetContext(context.WithoutCancel(msg.Context())) // which the ack would cancel
			msg.Ack()
			return nil, handleInTransaction(ob, msg, func(tx any, msg *message.Message) ([]*message.Message, error) {
				remember, err := s.On.statement("seen")
				if err != nil {
					return nil, err
				}
				n, err := execIn(msg.Context(), tx, remember, msg.UUID)
				if err != nil || n == 0 {
					return nil, err
				}
				return h(msg)
			})
		}
	}
}

// transactor is an outbox on any database.
type transactor[Tx any] interface {
	outbox.Enqueuer
	InTx(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// handleInTransaction runs h and enqueues what it returns, in one transaction.
func handleInTransaction[Tx any](
	ob transactor[Tx], msg *message.Message, h func(tx any, msg *message.Message) ([]*message.Message, error),
) error {
	before := msg.Context()
	defer msg.SetContext(before)
	return ob.InTx(before, func(ctx context.Context, tx Tx) error {
		msg.SetContext(ctx)
		produced, err := h(tx, msg)
		if err != nil {
			return err
		}
		for _, p := range produced {
			m, err := outbox.FromWatermill(message.PublishTopicFromCtx(ctx), p, nil)
			if err != nil {
				return err
			}
			if err := ob.EnqueueContext(ctx, m); err != nil {
				return err
			}
		}
		return nil
	})
}
