package amqpsink_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/amqpsink"
	"github.com/leat-go/leat/outbox/driver"
)

// patience bounds what a test waits for; none of them measures time.
const patience = 60 * time.Second

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// connect returns a channel on the broker at url.
func connect(tb testing.TB, url string) *amqp.Channel {
	tb.Helper()
	conn, err := amqp.Dial(url)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = conn.Close() })
	channel, err := conn.Channel()
	require.NoError(tb, err)
	return channel
}

// quorum and classic are arguments of queues.
func quorum() amqp.Table  { return amqp.Table{"x-queue-type": "quorum"} }
func classic() amqp.Table { return amqp.Table{"x-queue-type": "classic"} }

// declareQueue declares a durable queue.
func declareQueue(tb testing.TB, channel *amqp.Channel, name string, args amqp.Table) {
	tb.Helper()
	_, err := channel.QueueDeclare(name, true, false, false, false, args)
	require.NoError(tb, err)
}

func newSink(tb testing.TB, url string, cfg amqpsink.Config) *amqpsink.Sink {
	tb.Helper()
	s, err := amqpsink.New([]string{url}, cfg)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

// broker is a virtual host with a sink, whose connections go through a valve. Each topic has a queue
// that is called like it.
type broker struct {
	url   string
	cfg   amqpsink.Config
	valve faultnet.Valve

	// declare makes the topic called name.
	declare func(channel *amqp.Channel, name string) error

	mu      sync.Mutex
	channel *amqp.Channel // to look what has arrived
	conn    *amqp.Connection
	log     map[string][]outbox.Message
}

// newBroker declares the topics a and b.
func newBroker(tb testing.TB, url string, cfg amqpsink.Config, declare func(*amqp.Channel, string) error) *broker {
	tb.Helper()
	b := &broker{url: url, cfg: cfg, declare: declare, log: make(map[string][]outbox.Message)}
	b.cfg.Dial = b.valve.Dial
	for _, topic := range b.Topics() {
		require.NoError(tb, b.use(func(channel *amqp.Channel) error { return declare(channel, topic) }))
	}
	tb.Cleanup(func() { _ = b.conn.Close() })
	return b
}

func (b *broker) Sink() (driver.Sink, error) { return amqpsink.New([]string{b.url}, b.cfg) }
func (*broker) Topics() [2]string            { return [2]string{"a", "b"} }
func (*broker) Missing() string              { return "missing" }
func (*broker) TooLarge() int                { return amqpsink.DefaultMaxMessageBytes + 1 }

func (b *broker) Provide(context.Context) error {
	return b.use(func(channel *amqp.Channel) error { return b.declare(channel, b.Missing()) })
}

func (b *broker) Mute(context.Context) (func(context.Context) error, error) {
	return releaser(b.valve.Mute()), nil
}

func (b *broker) Stall(context.Context) (func(context.Context) error, error) {
	return releaser(b.valve.Stall()), nil
}

func releaser(release func()) func(context.Context) error {
	return func(context.Context) error {
		release()
		return nil
	}
}

// use calls f with a channel that is open.
func (b *broker) use(f func(channel *amqp.Channel) error) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.channel == nil || b.channel.IsClosed() {
		if b.conn != nil {
			_ = b.conn.Close()
		}
		if b.conn, err = amqp.Dial(b.url); err != nil {
			return err
		}
		if b.channel, err = b.conn.Channel(); err != nil {
			return err
		}
	}
	return f(b.channel)
}

// Arrived takes what is in the queue of topic and adds it to what was there before.
func (b *broker) Arrived(_ context.Context, topic string) ([]outbox.Message, error) {
	var all []outbox.Message
	err := b.use(func(channel *amqp.Channel) error {
		for {
			// Acked when it is read: what an answer that was lost would have taken stays in the queue.
			d, ok, err := channel.Get(topic, false)
			if err != nil {
				return err
			}
			if !ok {
				all = slices.Clone(b.log[topic])
				return nil
			}
			m, err := read(topic, &d)
			if err != nil {
				return err
			}
			if err := d.Ack(false); err != nil {
				return err
			}
			b.log[topic] = append(b.log[topic], m)
		}
	})
	return all, err
}

// read returns a delivery as the message that was sent.
func read(topic string, d *amqp.Delivery) (outbox.Message, error) {
	delete(d.Headers, "x-delivery-count") // quorum queues count
	msg, err := amqpsink.Marshaler{}.Unmarshal(*d)
	if err != nil {
		return outbox.Message{}, err
	}
	m, err := outbox.FromWatermill(topic, msg, nil)
	if err != nil {
		return m, err
	}
	m.OccurredAt, err = time.Parse(time.RFC3339Nano, msg.Metadata.Get(outbox.HeaderEventTime))
	if len(m.ID) <= 255 && d.MessageId != m.ID || d.DeliveryMode != amqp.Persistent {
		return m, fmt.Errorf("%w: id %.80q, property %.80q, mode %d", errProperties, m.ID, d.MessageId, d.DeliveryMode)
	}
	return m, err
}

// eventually calls f until it returns nil.
func eventually(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil || wait.For(ctx, 100*time.Millisecond) != nil {
			return err
		}
	}
}
