package kafkadefaults

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/stage"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// closedOnWatermill writes the effect in a transaction of its own.
func closedOnWatermill(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
	topic, err := s.CreateTopic(ctx, "closed-watermill", 1)
	if err != nil {
		return gallery.Outcome{}, err
	}
	effects, err := s.Effects(ctx, "closed_watermill")
	if err != nil {
		return gallery.Outcome{}, err
	}
	if err := publish(s, topic, nil, "m1"); err != nil {
		return gallery.Outcome{}, err
	}
	return restart(ctx, s, topic, "closed-watermill", effects, func(msg *message.Message) error {
		return effects.Add(msg.Context(), msg.UUID)
	})
}

// closedOnLeat has one line more, the inbox, and writes the effect in its
// transaction.
func closedOnLeat(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
	topic, err := s.CreateTopic(ctx, "closed-leat", 1)
	if err != nil {
		return gallery.Outcome{}, err
	}
	effects, err1 := s.Effects(ctx, "closed_on_leat")
	in, err2 := s.Inbox(ctx, "closed_on_leat")
	if err := errors.Join(err1, err2); err != nil {
		return gallery.Outcome{}, err
	}
	if err := send(ctx, s, "closed_on_leat", topic, kafkasink.Config{}, "m1"); err != nil {
		return gallery.Outcome{}, err
	}
	return restart(ctx, s, topic, "closed-leat", effects, func(msg *message.Message) error {
		_, err := pginbox.Tx(msg.Context()).Exec(msg.Context(), effects.Insert, msg.UUID)
		return err
	}, middleware.Inbox{Processor: in}.Middleware)
}

// restart handles the message in a router that is closed after the handler has
// written its effect and before it has returned; and then in another one.
func restart(
	ctx context.Context, s *stage.Stage, topic, group string, effects *stage.Effects,
	effect func(msg *message.Message) error, middlewares ...message.HandlerMiddleware,
) (gallery.Outcome, error) {
	sub, err := subscriber(s, s.Name(group))
	if err != nil {
		return gallery.Outcome{}, err
	}
	watched := &watched{Subscriber: sub, closed: make(chan struct{})}
	entered := make(chan struct{})
	service, err := stage.StartService(ctx, topic, watched, func(msg *message.Message) error {
		err := effect(msg)
		s.Say("  the handler has written its effect: error %v", err)
		close(entered)
		<-watched.closed
		s.Say("  the router has closed the subscriber, the handler returns")
		return err
	}, middlewares...)
	if err != nil {
		return gallery.Outcome{}, err
	}
	if err := errors.Join(stage.Wait(ctx, entered), service.Stop()); err != nil {
		return gallery.Outcome{}, err
	}
	if err := again(ctx, s, topic, group, effect, middlewares); err != nil {
		return gallery.Outcome{}, err
	}
	done, err := effects.IDs(ctx)
	return gallery.Judge(eventsOf("m1"), done), err
}

// again runs the next process until it has acknowledged the message.
func again(
	ctx context.Context, s *stage.Stage, topic, group string,
	effect func(msg *message.Message) error, middlewares []message.HandlerMiddleware,
) error {
	sub, err := subscriber(s, s.Name(group))
	if err != nil {
		return err
	}
	handled := make(chan struct{})
	var once atomic.Bool
	outermost := func(h message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			out, err := h(msg)
			s.Say("  after the restart the message comes again: error %v", err)
			if err == nil && once.CompareAndSwap(false, true) {
				close(handled)
			}
			return out, err
		}
	}
	service, err := stage.StartService(ctx, topic, sub, effect, append([]message.HandlerMiddleware{outermost}, middlewares...)...)
	if err != nil {
		return err
	}
	return errors.Join(stage.Wait(ctx, handled), service.Stop())
}

// watched tells when the subscriber is closed.
type watched struct {
	message.Subscriber
	closed chan struct{}
}

// Close implements message.Subscriber.
func (w *watched) Close() error {
	defer close(w.closed)
	return w.Subscriber.Close()
}
