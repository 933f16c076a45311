package benchmarks

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// openRelay returns a relay from ob to Kafka, of a group that starts at the oldest
// message, and its sink, which the caller must close.
func openRelay(ob *pgoutbox.Outbox, brokers []string, group string, cfg relay.Config) (*relay.Relay, *kafkasink.Sink, error) {
	return openRelayOf(ob, pgoutbox.SourceConfig{Group: group}, brokers, cfg)
}

// openRelayOf is openRelay with a configuration of the source.
func openRelayOf(
	ob *pgoutbox.Outbox, from pgoutbox.SourceConfig, brokers []string, cfg relay.Config,
) (*relay.Relay, *kafkasink.Sink, error) {
	from.Start = driver.Start{Oldest: true}
	source, err := ob.Source(from)
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
