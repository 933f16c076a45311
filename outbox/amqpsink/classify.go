package amqpsink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	amqp "github.com/rabbitmq/amqp091-go"
)

var errUnanswered = errors.New("leat: RabbitMQ has not answered in time")

// lost returns why a link is over, and learns from it what the next call has to know: if the
// broker has closed the channel because of one record, which holds up all others, that one is
// recognised.
func (s *Sink) lost(ctx context.Context, l *link, c *call, err error) error {
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
	var said *amqp.Error
	for e := range l.failed {
		said = e
	}
	if said == nil || !said.Server {
		return fmt.Errorf("leat: the connection to RabbitMQ was lost: %w", cmp.Or[error](asError(said), err))
	}
	switch said.Code {
	case amqp.AccessRefused:
		if name := firstMatch(`exchange '([^']*)'`, said.Reason); name != "" {
			s.refused[name] = fmt.Errorf("leat: RabbitMQ lets the user not write to exchange %q: %w", name, said)
		}
	case amqp.PreconditionFailed:
		if n, err := strconv.Atoi(firstMatch(`larger than configured max size ([0-9]+)`, said.Reason)); err == nil {
			s.limit = min(s.limit, n)
		}
	}
	return fmt.Errorf("leat: RabbitMQ has closed the channel: %w", said)
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

func firstMatch(pattern, text string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
