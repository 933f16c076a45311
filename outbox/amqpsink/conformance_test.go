package amqpsink_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/amqpsink"
	"github.com/leat-go/leat/outbox/sinktest"
)

var errProperties = errors.New("wrong properties")

// fullQueue refuses all messages.
const fullQueue = "full"

// refusing is a broker whose topics are exchanges that route by headers: what was bound to the full
// queue is refused, and the rest goes to the queue of the topic by an alternate exchange.
type refusing struct{ *broker }

var (
	_ sinktest.Refuser = refusing{}
	_ sinktest.Muter   = refusing{}
	_ sinktest.Staller = refusing{}
	_ sinktest.Misser  = refusing{}
	_ sinktest.Limiter = refusing{}
	_ sinktest.Killer  = killable{}
)

func newRefusing(tb testing.TB, url string, queue amqp.Table) refusing {
	tb.Helper()
	b := newBroker(tb, url, amqpsink.Config{}, func(channel *amqp.Channel, topic string) error {
		rest := topic + "-rest"
		_, err := channel.QueueDeclare(topic, true, false, false, false, queue)
		return errors.Join(err,
			channel.ExchangeDeclare(rest, amqp.ExchangeFanout, true, false, false, false, nil),
			channel.ExchangeDeclare(topic, amqp.ExchangeHeaders, true, false, false, false, amqp.Table{"alternate-exchange": rest}),
			channel.QueueBind(topic, "", rest, false, nil))
	})
	require.NoError(tb, b.use(func(channel *amqp.Channel) error {
		_, err := channel.QueueDeclare(fullQueue, true, false, false, false, amqp.Table{"x-max-length": 0, "x-overflow": "reject-publish"})
		return err
	}))
	return refusing{b}
}

func (b refusing) Refuse(_ context.Context, topic, id string) (func(context.Context) error, error) {
	match := amqp.Table{"x-match": "all", "event-id": id}
	return func(context.Context) error {
			return b.use(func(channel *amqp.Channel) error { return channel.QueueUnbind(fullQueue, "", topic, match) })
		}, b.use(func(channel *amqp.Channel) error {
			return channel.QueueBind(fullQueue, "", topic, false, match)
		})
}

func TestSink_Conformance(t *testing.T) {
	t.Parallel()
	for name, queue := range map[string]amqp.Table{"classic": classic(), "quorum": quorum()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sinktest.Run(t, sinktest.Features{}, func(t *testing.T) sinktest.Subject {
				return newRefusing(t, testenv.Rabbit(t).URL, queue)
			})
		})
	}
}

// TestSink_ConformanceOfRoutes: the other ways to route pass what differs between them.
func TestSink_ConformanceOfRoutes(t *testing.T) {
	t.Parallel()
	const events = "events"
	for name, test := range map[string]struct {
		cfg     amqpsink.Config
		declare func(channel *amqp.Channel, topic string) error
	}{
		"queues": {amqpsink.Config{Queues: true}, func(channel *amqp.Channel, topic string) error {
			_, err := channel.QueueDeclare(topic, true, false, false, false, nil)
			return err
		}},
		"one exchange": {amqpsink.Config{Exchange: events}, func(channel *amqp.Channel, topic string) error {
			_, err := channel.QueueDeclare(topic, true, false, false, false, nil)
			return errors.Join(err,
				channel.ExchangeDeclare(events, amqp.ExchangeTopic, true, false, false, false, nil),
				channel.QueueBind(topic, topic, events, false, nil))
		}},
	} {
		for _, check := range []string{"O5_KeysStayInOrder", "O5_TopicsAreApart", "O4_KeysArrive", "O7_O8_MissingTopicIsAnOutage"} {
			t.Run(fmt.Sprint(name, "/", check), func(t *testing.T) {
				t.Parallel()
				c, ok := sinktest.Find(check)
				require.True(t, ok)
				b := newBroker(t, testenv.Rabbit(t).URL, test.cfg, test.declare)
				require.NoError(t, c.Run(t.Context(), sinktest.Features{}, b))
			})
		}
	}
}

// killable is a broker of a test's own.
type killable struct {
	refusing

	server *testenv.RabbitServer
}

func (k killable) Kill(context.Context) error {
	k.server.Kill()
	return nil
}

func (k killable) Revive(ctx context.Context) error {
	k.server.Start()
	return eventually(ctx, func() error {
		_, err := k.Arrived(ctx, k.Topics()[0])
		if err == nil {
			_, err = k.Arrived(ctx, k.Topics()[1])
		}
		return err
	})
}

// TestSink_KilledBroker kills a broker whose queues are on disk. One that is killed in the first moments after a
// quorum queue was declared has forgotten its name, and starts with an empty one: see docs/brokers.md.
//
//leat:level 4
func TestSink_KilledBroker(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts brokers")
	for name, args := range map[string]func() amqp.Table{"classic": classic, "quorum": quorum} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sinktest.RunKill(t, sinktest.Features{}, func(t *testing.T) sinktest.Killer {
				server := testenv.PrivateRabbit(t, "")
				k := killable{newRefusing(t, server.URL, args()), server}
				server.Sync()
				return k
			})
		})
	}
}
