package queueschema

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
	"github.com/leat-go/leat/middleware"
)

var errLater = errors.New("something after the write fails")

// only returns the single message of this case.
func only() []exhibit.Event { return []exhibit.Event{{ID: first, Key: key}} }

// writeAndFail returns a handler that writes, and fails after its first write.
func writeAndFail(bed *testbed.Testbed, write message.NoPublishHandlerFunc) message.NoPublishHandlerFunc {
	var again atomic.Bool
	return func(msg *message.Message) error {
		if err := write(msg); err != nil {
			return err
		}
		if again.CompareAndSwap(false, true) {
			bed.Say("  the handler has written its effect, and fails")
			return errLater
		}
		bed.Say("  the handler has written its effect, and succeeds")
		return nil
	}
}

// retriedOnQueue writes in the subscriber's transaction. According to the comment of sql.TxFromContext, a
// nack rolls it back.
func retriedOnQueue(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	q := queue{bed: bed, topic: "retried", size: safestBatch}
	effects, err := bed.Effects(ctx, "retried_queue")
	fail.If(err)
	fail.If(q.publish(first))
	sub, err := q.subscriber(30 * time.Second)
	fail.If(err)
	service, err := testbed.StartService(ctx, q.topic, sub, writeAndFail(bed, func(msg *message.Message) error {
		tx, ok := sql.TxFromContext(msg.Context())
		if !ok {
			return errors.New("no transaction in the context")
		}
		_, err := tx.ExecContext(msg.Context(), effects.Insert, msg.UUID)
		return err
	}))
	fail.If(err)
	fail.If(errors.Join(q.drained(ctx), service.Stop()))
	done, err := effects.IDs(ctx)
	return exhibit.Judge(only(), done), err
}

// retriedOnLeat writes in the transaction of the inbox.
func retriedOnLeat(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	p, err := newPath(ctx, bed, "retried")
	fail.If(err)
	fail.If(p.publish(ctx, first))
	sub, err := kafkasource.NewSubscriber(bed.Brokers, bed.Name("retried"), kafkasource.Config{})
	fail.If(err)
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: p.in})
	fail.If(err)
	service, err := testbed.StartService(ctx, p.topic, sub, writeAndFail(bed, func(msg *message.Message) error {
		_, err := pginbox.Tx(msg.Context()).Exec(msg.Context(), p.effects.Insert, msg.UUID)
		return err
	}), once)
	fail.If(err)
	fail.If(errors.Join(p.effects.Has(ctx, first), service.Stop()))
	done, err := p.effects.IDs(ctx)
	return exhibit.Judge(only(), done), err
}
