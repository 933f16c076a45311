package kafkasource_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

// throughOutbox returns a side that publishes through one outbox. All of its publishers share it, as the
// replicas of a service do.
func throughOutbox(t *testing.T) side {
	t.Helper()
	ob, err := pgoutbox.New(testenv.Postgres(t).Pool, pgoutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(t.Context()))
	return side{publisher: func(brokers []string) (message.Publisher, error) { return newOutboxPublisher(ob, brokers) }}
}

// outboxPublisher publishes in transactions of its own. Its relay, or another publisher's, sends the
// committed messages to Kafka.
type outboxPublisher struct {
	*wmoutbox.Publisher

	ob   *pgoutbox.Outbox
	stop func() error
}

func newOutboxPublisher(ob *pgoutbox.Outbox, brokers []string) (*outboxPublisher, error) {
	pub, err := wmoutbox.NewPublisher(ob, wmoutbox.Config{Key: byPayload})
	if err != nil {
		return nil, err
	}
	source, err := ob.Source(pgoutbox.SourceConfig{})
	if err != nil {
		return nil, err
	}
	sink, err := kafkasink.New(brokers, kafkasink.Config{})
	if err != nil {
		return nil, err
	}
	r, err := relay.New(source, sink, relay.Config{})
	if err != nil {
		return nil, errors.Join(err, sink.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	return &outboxPublisher{Publisher: pub, ob: ob, stop: sync.OnceValue(func() error {
		cancel()
		return errors.Join(<-ended, sink.Close())
	})}, nil
}

// Publish implements message.Publisher.
func (p *outboxPublisher) Publish(topic string, msgs ...*message.Message) error {
	return p.ob.InTx(context.Background(), func(ctx context.Context, _ pgx.Tx) error {
		inTx := make([]*message.Message, len(msgs))
		for i, msg := range msgs {
			inTx[i] = msg.Copy()
			inTx[i].SetContext(ctx)
		}
		return p.Publisher.Publish(topic, inTx...)
	})
}

// Close implements message.Publisher: it stops the relay.
func (p *outboxPublisher) Close() error { return p.stop() }
