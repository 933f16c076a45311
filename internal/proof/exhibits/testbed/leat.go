package testbed

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// Outbox creates an outbox in its own schema.
func (bed *Testbed) Outbox(ctx context.Context, name string) (*pgoutbox.Outbox, error) {
	ob, err := pgoutbox.New(bed.Pool, pgoutbox.Config{Schema: "outbox_" + name})
	if err != nil {
		return nil, err
	}
	return ob, ob.Migrate(ctx)
}

// Inbox creates an inbox in its own schema.
func (bed *Testbed) Inbox(ctx context.Context, name string) (*pginbox.Inbox, error) {
	in, err := pginbox.New(bed.Pool, "exhibit", pginbox.Config{Schema: "inbox_" + name})
	if err != nil {
		return nil, err
	}
	return in, in.Migrate(ctx)
}

// Enqueue commits messages of one key in one transaction of ob.
func Enqueue(ctx context.Context, ob *pgoutbox.Outbox, topic, key string, ids ...string) error {
	return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		for _, id := range ids {
			err := ob.Enqueue(ctx, tx, outbox.Message{ID: id, Topic: topic, Key: key, Payload: []byte(`{}`)})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// NewRelay returns a relay from ob to sink.
func NewRelay(ob *pgoutbox.Outbox, sink driver.Sink, cfg relay.Config) (*relay.Relay, error) {
	source, err := ob.Source(pgoutbox.SourceConfig{})
	if err != nil {
		return nil, err
	}
	return relay.New(source, sink, cfg)
}

// Drain relays the committed messages in ob to sink.
func Drain(ctx context.Context, ob *pgoutbox.Outbox, sink driver.Sink) error {
	r, err := NewRelay(ob, sink, relay.Config{})
	if err != nil {
		return err
	}
	_, err = r.RunOnce(ctx)
	return err
}

// Carry relays the committed messages in ob to Kafka.
func (bed *Testbed) Carry(ctx context.Context, ob *pgoutbox.Outbox, cfg kafkasink.Config) error {
	sink, err := kafkasink.New(bed.Brokers, cfg)
	if err != nil {
		return err
	}
	defer sink.Close()
	return Drain(ctx, ob, sink)
}
