package benchmarks

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// openRelay returns a relay from ob to Kafka, of a group that starts at the oldest
// message, and its sink, which the caller must close.
func openRelay(ob *pgoutbox.Outbox, brokers []string, group string, cfg relay.Config) (*relay.Relay, *kafkasink.Sink, error) {
	source, err := ob.Source(pgoutbox.SourceConfig{Group: group, Start: pgoutbox.StartOldest()})
	if err != nil {
		return nil, nil, err
	}
	sink, err := kafkasink.New(brokers, kafkasink.Config{})
	if err != nil {
		return nil, nil, err
	}
	r, err := relay.New(source, sink, cfg)
	if err != nil {
		_ = sink.Close() // it always returns nil
		return nil, nil, err
	}
	return r, sink, nil
}

// commitOne commits one message.
type commitOne = func(ctx context.Context, key string, payload []byte) error

// commitTo enqueues each message in a transaction of its own.
func commitTo(ob *pgoutbox.Outbox, topic string) commitOne {
	return func(ctx context.Context, key string, payload []byte) error {
		msg := outbox.Message{Topic: topic, Key: key, Payload: payload}
		return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return ob.Enqueue(ctx, tx, msg) })
	}
}
