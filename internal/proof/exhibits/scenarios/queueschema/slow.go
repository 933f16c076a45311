package queueschema

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	wmiddleware "github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
	"github.com/leat-go/leat/middleware"
)

// deadline is how long a message may take. AckDeadline is 30 s by default. It is shorter here, so that the
// audience does not wait.
const deadline = 300 * time.Millisecond

// stumble returns a handler that exceeds the deadline when it receives the second message for the first
// time. It closes stumbled then.
func stumble(bed *testbed.Testbed, effect message.NoPublishHandlerFunc, stumbled chan<- struct{}) message.NoPublishHandlerFunc {
	var before atomic.Bool
	return func(msg *message.Message) error {
		if msg.UUID == second && before.CompareAndSwap(false, true) {
			<-msg.Context().Done()
			bed.Say("  %s has taken too long", msg.UUID)
			close(stumbled)
			return msg.Context().Err()
		}
		bed.Say("  %s is handled", msg.UUID)
		return effect(msg)
	}
}

func slowOnQueue(size int) exhibit.Side {
	return func(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
		q := queue{bed: bed, topic: "slow_" + batchName(size), size: size}
		if err := q.publish(batch()...); err != nil {
			return exhibit.Outcome{}, err
		}
		sub, err := q.subscriber(deadline)
		if err != nil {
			return exhibit.Outcome{}, err
		}
		var log testbed.Log
		stumbled, arrived := make(chan struct{}), make(chan struct{})
		service, err := testbed.StartService(ctx, q.topic, sub, stumble(bed, func(msg *message.Message) error {
			log.Add(msg.UUID)
			if msg.UUID == marker {
				close(arrived)
			}
			return nil
		}, stumbled))
		if err != nil {
			return exhibit.Outcome{}, err
		}
		err = testbed.Wait(ctx, stumbled)
		if err == nil {
			err = q.publish(marker)
		}
		if err == nil {
			err = testbed.Wait(ctx, arrived)
		}
		if err == nil {
			err = q.drained(ctx)
		}
		return exhibit.Judge(committed(), log.IDs()), errors.Join(err, service.Stop())
	}
}

// slowOnLeat bounds the handler by Watermill's Timeout, inside the inbox.
func slowOnLeat(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	p, err := newPath(ctx, bed, "slow")
	fail.If(err)
	fail.If(p.publish(ctx, batch()...))
	sub, err := kafkasource.NewSubscriber(bed.Brokers, bed.Name("slow"), kafkasource.Config{})
	fail.If(err)
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: p.in})
	fail.If(err)
	stumbled := make(chan struct{})
	service, err := testbed.StartService(ctx, p.topic, sub, stumble(bed, func(msg *message.Message) error {
		_, err := pginbox.Tx(msg.Context()).Exec(msg.Context(), p.effects.Insert, msg.UUID)
		return err
	}, stumbled), once, wmiddleware.Timeout(deadline))
	fail.If(err)
	err = testbed.Wait(ctx, stumbled)
	if err == nil {
		err = p.publish(ctx, marker)
	}
	if err == nil {
		err = p.effects.Has(ctx, marker)
	}
	fail.If(errors.Join(err, service.Stop()))
	done, err := p.effects.IDs(ctx)
	return exhibit.Judge(committed(), done), err
}
