package amqpsink_test

import (
	"errors"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/amqpsink"
)

// TestDeclare: a sink that declares needs nothing on the broker, makes again what is deleted, and
// leaves other topics alone if it cannot.
func TestDeclare(t *testing.T) {
	t.Parallel()
	url := testenv.Rabbit(t).URL
	channel := connect(t, url)
	errNo := errors.New("not this one")
	s := newSink(t, url, amqpsink.Config{
		Exchange:   "events",
		RoutingKey: func(r *outbox.Record) string { return r.Topic + ".placed" },
		Declare: func(channel *amqp.Channel, topic string) error {
			if topic == "refused" {
				return errNo
			}
			_, err := channel.QueueDeclare(topic, true, false, false, false, quorum())
			return errors.Join(err,
				channel.ExchangeDeclare("events", amqp.ExchangeTopic, true, false, false, false, nil),
				channel.QueueBind(topic, topic+".*", "events", false, nil))
		},
	})
	require.NoError(t, s.Check(within(t, patience)), "the exchange is made with the first record")
	available, err := s.CheckTopics(within(t, patience), []string{"orders", "refused"})
	require.NoError(t, err)
	require.Equal(t, []string{"orders"}, available)

	sent := mixed("orders", "refused")
	requireUnavailable(t, sent, s.Send(within(t, patience), sent), "refused", `what declares topic "refused": not this one`)
	_, err = channel.QueueDelete("orders", false, false, false)
	require.NoError(t, err)
	orders := records("orders", 4, 4)
	results := s.Send(within(t, patience), orders)
	requireUnavailable(t, orders, results, "orders",
		`bind one to exchange "events", with routing key "orders.placed" (in Go: channel.QueueBind(queue, "orders.placed", "events", false, nil))`)
	require.Equal(t, map[string]int{"ok": 4}, kinds(s.Send(within(t, patience), orders)))
	require.NoError(t, channel.ExchangeDelete("events", false, false))
	require.Zero(t, kinds(s.Send(within(t, patience), orders))["permanent"])
	require.Equal(t, map[string]int{"ok": 4}, kinds(s.Send(within(t, patience), orders)))
}

// TestMissing_NamesTheLine: what is missing is named with the line that declares it.
func TestMissing_NamesTheLine(t *testing.T) {
	t.Parallel()
	url := testenv.Rabbit(t).URL
	for name, test := range map[string]struct {
		cfg  amqpsink.Config
		says string
	}{
		"a queue": {
			amqpsink.Config{Queues: true},
			`there is no queue "orders": declare a durable queue "orders" (in Go: channel.QueueDeclare("orders", true, `,
		},
		"an exchange": {amqpsink.Config{}, `no exchange 'orders' in vhost`},
		"its line": {
			amqpsink.Config{},
			`declare a durable exchange "orders", such as one of type topic (in Go: channel.ExchangeDeclare("orders", "topic", true, `,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := records("orders", 1, 1)
			requireUnavailable(t, sent, newSink(t, url, test.cfg).Send(within(t, patience), sent), "orders", test.says)
		})
	}
	_, err := newSink(t, url, amqpsink.Config{Queues: true}).CheckTopics(within(t, patience), []string{"orders"})
	require.NoError(t, err)
}
