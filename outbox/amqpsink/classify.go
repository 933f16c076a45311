package amqpsink

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/leat-go/leat/outbox"
)

var errUnanswered = errors.New("leat: RabbitMQ has not answered in time")

// lost returns why a link is over, and learns from it what the next call has to know: if the
// broker has closed the channel because of one record, which holds up all others, that one is
// recognised. If it is not, the next call has one record under way at a time, and sees which it is.
func (s *Sink) lost(ctx context.Context, l *link, c *call, err error) error {
	said := l.said()
	l.cut()
	l.wait()
	c.confirmed(l)
	if cause := context.Cause(ctx); cause != nil {
		err = fmt.Errorf("%w: %w", errUnanswered, cause)
		if why := l.blocked.Load(); why != nil {
			err = fmt.Errorf("%w (the broker has blocked its publishers: %s)", err, *why)
		}
		return err
	}
	for e := range l.failed {
		said = e
	}
	if said == nil || !said.Server {
		return fmt.Errorf("leat: the connection to RabbitMQ was lost: %w", cmp.Or[error](asError(said), err))
	}
	err = fmt.Errorf("leat: RabbitMQ has closed the channel: %w", said)
	if said.Code/100 == 4 && !s.learned.learn(said) {
		s.careful = true
		c.blame(err)
	}
	return err
}

// blame fails the record that is under way, if it is the only one: it has made the broker close the channel, for
// the reason err.
func (c *call) blame(err error) {
	if len(c.flying) == 1 {
		place := c.flying[0].place
		c.flying, c.blamed = nil, true
		c.settle(place, outbox.Failed(outbox.FailureUnknown, err))
	}
}

// confirmed settles what was acknowledged before the link was over.
func (c *call) confirmed(l *link) {
	c.collect(l)
	rest := c.flying[:0]
	for _, f := range c.flying {
		if f.confirm.Acked() && c.unbound[f.route] == 0 {
			c.results[f.place], c.done[f.place] = c.answer(f), true
		} else {
			rest = append(rest, f)
		}
	}
	c.flying = rest
}

// asError returns e as an error that is nil if e is.
func asError(e *amqp.Error) error {
	if e == nil {
		return nil
	}
	return e
}
