package kafkadefaults

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// closedOnWatermill writes the effect in a separate transaction.
func closedOnWatermill(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	topic, err := bed.CreateTopic(ctx, "closed-watermill", 1)
	fail.If(err)
	effects, err := bed.Effects(ctx, "closed_watermill")
	fail.If(err)
	fail.If(publish(bed, topic, nil, "m1"))
	return restart(ctx, bed, topic, "closed-watermill", effects, func(msg *message.Message) error {
		return effects.Add(msg.Context(), msg.UUID)
	})
}

// closedOnLeat has one more line, the inbox, and writes the effect in its transaction.
func closedOnLeat(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	topic, err := bed.CreateTopic(ctx, "closed-leat", 1)
	fail.If(err)
	effects, err1 := bed.Effects(ctx, "closed_on_leat")
	in, err2 := bed.Inbox(ctx, "closed_on_leat")
	fail.If(errors.Join(err1, err2))
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	fail.If(err)
	fail.If(send(ctx, bed, "closed_on_leat", topic, kafkasink.Config{}, "m1"))
	return restart(ctx, bed, topic, "closed-leat", effects, func(msg *message.Message) error {
		_, err := pginbox.Tx(msg.Context()).Exec(msg.Context(), effects.Insert, msg.UUID)
		return err
	}, once)
}

// restart makes a router handle the message and closes it after the handler has written its effect but
// before it has returned. Then another router gets the message.
func restart(
	ctx context.Context, bed *testbed.Testbed, topic, group string, effects *testbed.Effects,
	effect func(msg *message.Message) error, middlewares ...message.HandlerMiddleware,
) (exhibit.Outcome, error) {
	sub, err := subscriber(bed, bed.Name(group))
	if err != nil {
		return exhibit.Outcome{}, err
	}
	watched := &watched{Subscriber: sub, closed: make(chan struct{})}
	entered := make(chan struct{})
	service, err := testbed.StartService(ctx, topic, watched, func(msg *message.Message) error {
		err := effect(msg)
		bed.Say("  the handler has written its effect: error %v", err)
		close(entered)
		<-watched.closed
		bed.Say("  the router has closed the subscriber, the handler returns")
		return err
	}, middlewares...)
	if err != nil {
		return exhibit.Outcome{}, err
	}
	if err := errors.Join(testbed.Wait(ctx, entered), service.Stop()); err != nil {
		return exhibit.Outcome{}, err
	}
	if err := again(ctx, bed, topic, group, effect, middlewares); err != nil {
		return exhibit.Outcome{}, err
	}
	done, err := effects.IDs(ctx)
	return exhibit.Judge(eventsOf("m1"), done), err
}

// again runs another process until it has acknowledged the message.
func again(
	ctx context.Context, bed *testbed.Testbed, topic, group string,
	effect func(msg *message.Message) error, middlewares []message.HandlerMiddleware,
) error {
	sub, err := subscriber(bed, bed.Name(group))
	if err != nil {
		return err
	}
	handled := make(chan struct{})
	var once atomic.Bool
	outermost := func(h message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			out, err := h(msg)
			bed.Say("  after the restart the message comes again: error %v", err)
			if err == nil && once.CompareAndSwap(false, true) {
				close(handled)
			}
			return out, err
		}
	}
	service, err := testbed.StartService(ctx, topic, sub, effect, append([]message.HandlerMiddleware{outermost}, middlewares...)...)
	if err != nil {
		return err
	}
	return errors.Join(testbed.Wait(ctx, handled), service.Stop())
}

// watched is a subscriber that reports when it is closed.
type watched struct {
	message.Subscriber
	closed chan struct{}
}

// Close implements message.Subscriber.
func (w *watched) Close() error {
	defer close(w.closed)
	return w.Subscriber.Close()
}
