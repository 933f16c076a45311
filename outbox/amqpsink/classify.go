package amqpsink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/leat-go/leat/outbox"
)

var errUnanswered = errors.New("leat: RabbitMQ has not answered in time")

// lost returns why a link is over, and records for the next call whether the broker closed the
// channel because of one record, which holds up all others. If that record cannot be identified,
// the next call has one record in flight at a time, and so finds it.
func (s *Sink) lost(ctx context.Context, l *link, c *call, err error) error {
	said := l.said()
	l.cut()
	l.wait()
	c.confirmed(l)
	if cause := context.Cause(ctx); cause != nil {
		if why := l.blocked.Load(); why != nil {
			return fmt.Errorf("leat: rabbitmq at %v has blocked its publishers: %s: %w: %w", s.hosts, *why, errUnanswered, cause)
		}
		return s.out(fmt.Errorf("%w: %w", errUnanswered, cause))
	}
	for e := range l.failed {
		said = e
	}
	if said == nil || !said.Server {
		return s.out(fmt.Errorf("the connection was lost: %w", cmp.Or[error](asError(said), err)))
	}
	err = fmt.Errorf("leat: RabbitMQ has closed the channel: %w", said)
	if said.Code/100 == 4 && !s.learned.learn(said) {
		s.careful = true
		c.blame(err)
	}
	return err
}

// out adds the names of the brokers to err, which affects all of them and not only the topic
// whose record failed.
func (s *Sink) out(err error) error {
	verb := "does not answer"
	if said, ok := errors.AsType[*amqp.Error](err); ok && (said.Code == amqp.AccessRefused || said.Code == amqp.NotAllowed) {
		verb = "refuses"
	}
	return fmt.Errorf("leat: rabbitmq at %v %s: %w", s.hosts, verb, err)
}

// hostsOf returns the addresses in URLs, without their secrets.
func hostsOf(urls []string) []string {
	hosts := make([]string, len(urls))
	for i, u := range urls {
		uri, _ := amqp.ParseURI(u) // New has checked it
		hosts[i] = net.JoinHostPort(uri.Host, strconv.Itoa(uri.Port))
	}
	return hosts
}

// blame fails the record in flight, if it is the only one: it made the broker close the channel,
// for the reason err.
func (c *call) blame(err error) {
	if len(c.flying) == 1 {
		place := c.flying[0].place
		c.flying, c.blamed = nil, true
		c.settle(place, outbox.Failed(outbox.FailureUnknown, err))
	}
}

// confirmed settles the records that were acknowledged before the link was over.
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

// asError returns e as an error; nil stays nil.
func asError(e *amqp.Error) error {
	if e == nil {
		return nil
	}
	return e
}
