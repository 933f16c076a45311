package queueschema

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/stage"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/middleware"
)

var errLater = errors.New("something after the write fails")

// only is the message of this case.
func only() []gallery.Event { return []gallery.Event{{ID: first, Key: key}} }

// writeAndFail returns a handler that writes and then fails, the first time.
func writeAndFail(s *stage.Stage, write message.NoPublishHandlerFunc) message.NoPublishHandlerFunc {
	var again atomic.Bool
	return func(msg *message.Message) error {
		if err := write(msg); err != nil {
			return err
		}
		if again.CompareAndSwap(false, true) {
			s.Say("  the handler has written its effect, and fails")
			return errLater
		}
		s.Say("  the handler has written its effect, and succeeds")
		return nil
	}
}

// retriedOnQueue writes in the transaction of the subscriber, of which the comment of
// sql.TxFromContext says that a nack rolls it back.
func retriedOnQueue(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
	q := queue{stage: s, topic: "retried", size: safestBatch}
	effects, err := s.Effects(ctx, "retried_queue")
	if err != nil {
		return gallery.Outcome{}, err
	}
	if err := q.publish(first); err != nil {
		return gallery.Outcome{}, err
	}
	sub, err := q.subscriber(30 * time.Second)
	if err != nil {
		return gallery.Outcome{}, err
	}
	service, err := stage.StartService(ctx, q.topic, sub, writeAndFail(s, func(msg *message.Message) error {
		tx, ok := sql.TxFromContext(msg.Context())
		if !ok {
			return errors.New("no transaction in the context")
		}
		_, err := tx.ExecContext(msg.Context(), effects.Insert, msg.UUID)
		return err
	}))
	if err != nil {
		return gallery.Outcome{}, err
	}
	if err := errors.Join(q.drained(ctx), service.Stop()); err != nil {
		return gallery.Outcome{}, err
	}
	done, err := effects.IDs(ctx)
	return gallery.Judge(only(), done), err
}

// retriedOnLeat writes in the transaction of the inbox.
func retriedOnLeat(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
	p, err := newPath(ctx, s, "retried")
	if err != nil {
		return gallery.Outcome{}, err
	}
	if err := p.publish(ctx, first); err != nil {
		return gallery.Outcome{}, err
	}
	sub, err := kafkasource.NewSubscriber(s.Brokers, s.Name("retried"), kafkasource.Config{})
	if err != nil {
		return gallery.Outcome{}, err
	}
	service, err := stage.StartService(ctx, p.topic, sub, writeAndFail(s, func(msg *message.Message) error {
		_, err := pginbox.Tx(msg.Context()).Exec(msg.Context(), p.effects.Insert, msg.UUID)
		return err
	}), middleware.Inbox{Processor: p.in}.Middleware)
	if err != nil {
		return gallery.Outcome{}, err
	}
	if err := errors.Join(p.effects.Has(ctx, first), service.Stop()); err != nil {
		return gallery.Outcome{}, err
	}
	done, err := p.effects.IDs(ctx)
	return gallery.Judge(only(), done), err
}
