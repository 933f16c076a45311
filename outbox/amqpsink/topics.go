package amqpsink

import (
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/leat-go/leat/outbox"
)

// declare declares what the records of topic need, once per connection.
func (s *Sink) declare(l *link, topic string) error {
	if _, ok := l.declared[topic]; ok || s.cfg.Declare == nil {
		return nil
	}
	channel, err := l.conn.Channel()
	if err == nil {
		err = s.cfg.Declare(channel, topic)
		_ = channel.Close() // the broker has closed it if it refused something
	}
	if err != nil {
		return fmt.Errorf("%w: what declares topic %q: %w", outbox.ErrTopicUnavailable, topic, err)
	}
	l.declared[topic] = struct{}{}
	return nil
}

// missingTopic reports whether the broker refuses records of topic with the routing key, with the
// reason. An error with false means that it is not known.
func (c *call) missingTopic(l *link, topic, key string) (missing bool, err error) {
	exchange := c.s.exchange(topic)
	for _, t := range [...]target{{exchange: exchange, whole: true}, {exchange: exchange, key: key}} {
		if err := c.s.learned.refusal(t); err != nil {
			return true, err
		}
	}
	if c.s.cfg.Queues {
		return false, nil // the message will be returned
	}
	if err := c.missing[exchange]; err != nil {
		return true, err
	}
	missing, err = c.s.missing(l, exchange)
	if missing {
		c.missing[exchange] = err
	}
	return missing, err
}

// missingQueue reports whether the queue name does not exist.
func (s *Sink) missingQueue(l *link, name string) (missing bool, err error) {
	missing, err = ask(l, func(probe *amqp.Channel) error {
		// A passive declaration does not compare the properties of the queue.
		_, err := probe.QueueDeclarePassive(name, true, false, false, false, nil)
		return err
	})
	if missing {
		err = fmt.Errorf("%w: %s", err, declareQueue(name))
	}
	return missing, err
}

// Both return the advice that the error gives: how to declare the missing exchange or queue.
func declareQueue(name string) string {
	return fmt.Sprintf("declare a durable queue %q (in Go: channel.QueueDeclare(%[1]q, true, false, false, false, nil))", name) //nolint:dupword // Go
}

func declareExchange(name string) string {
	return fmt.Sprintf(`declare a durable exchange %q, such as one of type topic (in Go: channel.ExchangeDeclare(%[1]q, "topic", true, false, false, false, nil))`, name) //nolint:dupword // Go
}

func bindQueue(exchange, key string) string {
	return fmt.Sprintf("bind one to exchange %q, with routing key %q (in Go: channel.QueueBind(queue, %[2]q, %[1]q, false, nil))", exchange, key)
}

// missing reports whether the exchange name does not exist. It asks once per connection, on a
// separate channel, since the answer closes it. Publishing without asking would close the
// records' own channel, with all records in flight.
func (s *Sink) missing(l *link, name string) (missing bool, err error) {
	if _, ok := l.known[name]; ok {
		return false, nil
	}
	missing, err = ask(l, func(probe *amqp.Channel) error {
		// A passive declaration does not compare the kind and the other arguments.
		return probe.ExchangeDeclarePassive(name, amqp.ExchangeTopic, true, false, false, false, nil)
	})
	switch {
	case missing:
		err = fmt.Errorf("%w: %s", err, declareExchange(name))
	case err == nil:
		l.known[name] = struct{}{}
	}
	return missing, err
}

// ask declares something passively on a separate channel, and reports whether it does not exist.
func ask(l *link, question func(probe *amqp.Channel) error) (missing bool, err error) {
	probe, err := l.conn.Channel()
	if err != nil {
		return false, fmt.Errorf("leat: RabbitMQ opens no channel: %w", err)
	}
	err = question(probe)
	if err == nil {
		return false, probe.Close()
	}
	said, ok := errors.AsType[*amqp.Error](err)
	if ok && said.Code == amqp.ResourceLocked {
		return false, nil // an exclusive queue of another connection: it takes messages
	}
	return ok && said.Code == amqp.NotFound, fmt.Errorf("leat: RabbitMQ: %w", err)
}
