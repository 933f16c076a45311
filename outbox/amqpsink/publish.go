package amqpsink

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
)

var (
	errNacked     = errors.New("leat: RabbitMQ has refused the message (nack)")
	errGone       = errors.New("leat: closed before the confirm")
	errUnroutable = errors.New("leat: no queue takes the message")
)

// deliver publishes ready records and waits for confirms, until all are settled. An error means
// that the link is over.
func (c *call) deliver(ctx context.Context, l *link) error {
	most, begun := c.s.cfg.MaxUnconfirmed, false
	if c.s.careful {
		most = 1
	}
	for len(c.ready) > 0 || len(c.flying) > 0 {
		if len(c.ready) > 0 && len(c.flying) < most {
			place := c.ready[0]
			c.ready = c.ready[1:]
			if err := c.publish(l, place); err != nil {
				return c.s.lost(ctx, l, c, err)
			}
			continue
		}
		if !begun {
			begun = true
			if err := failpoint.Inject(ctx, failpoint.RelayMidBatch); err != nil {
				return err
			}
		}
		f := c.flying[0]
		<-f.confirm.Done() // even if the connection is closed, as the end of ctx does
		if !f.confirm.Acked() && !l.alive() {
			return c.s.lost(ctx, l, c, errGone)
		}
		c.flying = c.flying[1:]
		c.collect(l)
		c.settle(f.place, c.answer(f))
		if errors.Is(c.results[f.place].Err, errUnroutable) {
			delete(l.declared, c.records[f.place].Topic)
		}
	}
	return nil
}

// publish sends the record at place, unless it is known to fail. An error means that the link is
// over.
func (c *call) publish(l *link, place int32) error {
	r, s := &c.records[place], c.s
	f := flight{place: place, route: route{exchange: s.exchange(r.Topic), key: s.cfg.RoutingKey(r), id: r.ID}}
	if err := s.declare(l, r.Topic); err != nil {
		c.settle(place, outbox.Failed(outbox.FailureOutage, err))
		return nil
	}
	missing, err := c.missingTopic(l, r.Topic, f.route.key)
	if missing {
		c.settle(place, outbox.Failed(outbox.FailureOutage, fmt.Errorf("%w: %w", outbox.ErrTopicUnavailable, err)))
		return nil
	}
	if err != nil {
		return err
	}
	message, err := s.message(r, l.conn.Config.FrameSize)
	if err == nil && len(f.route.key) > maxShort {
		err = fmt.Errorf("%w: that of %.100q", errRoutingKey, r.ID)
	}
	if err != nil {
		c.settle(place, outbox.Failed(outbox.FailurePermanent, err))
		return nil
	}
	const mandatory, immediate = true, false
	f.confirm, err = l.channel.PublishWithDeferredConfirm(f.route.exchange, f.route.key, mandatory, immediate, message)
	if err != nil {
		// Part of it may have been written.
		c.results[place], c.done[place] = outbox.Failed(outbox.FailureOutage, err), true
		for next := c.behind[place]; next != 0; next = c.behind[next] {
			c.results[next], c.done[next] = outbox.NotSent(), true
		}
		return err
	}
	c.flying = append(c.flying, f)
	return nil
}

// collect takes the messages that the broker has returned. A return comes before the confirm of
// its message.
func (c *call) collect(l *link) {
	for {
		select {
		case r, ok := <-l.returns:
			if !ok {
				return
			}
			id, _ := r.Headers[outbox.HeaderEventID].(string)
			c.unbound[route{exchange: r.Exchange, key: r.RoutingKey, id: id}]++
		default:
			return
		}
	}
}

// answer returns the broker's answer to f. It uses the library's deferred confirms, because its
// listeners see an ack if a nack is followed by an ack of several messages around it.
func (c *call) answer(f flight) outbox.Result {
	if !f.confirm.Acked() {
		return outbox.Failed(outbox.FailureUnknown, fmt.Errorf("%w: exchange %q, routing key %q", errNacked, f.route.exchange, f.route.key))
	}
	if c.unbound[f.route] == 0 {
		return outbox.Result{}
	}
	c.unbound[f.route]--
	err := fmt.Errorf("%w to exchange %q for routing key %q: %s", errUnroutable, f.route.exchange, f.route.key, bindQueue(f.route.exchange, f.route.key))
	if f.route.exchange == "" {
		err = fmt.Errorf("%w, for there is no queue %q: %s", errUnroutable, f.route.key, declareQueue(f.route.key))
	}
	if c.s.cfg.UnroutableIsPermanent {
		return outbox.Failed(outbox.FailurePermanent, err)
	}
	return outbox.Failed(outbox.FailureOutage, fmt.Errorf("%w: %w", outbox.ErrTopicUnavailable, err))
}
