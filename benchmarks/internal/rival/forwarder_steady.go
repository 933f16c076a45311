package rival

import (
	"context"
	"errors"
	"fmt"

	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox"
)

// Migrate creates the forwarder's tables.
func (f *Forwarder) Migrate(ctx context.Context) error { return f.Fill(ctx, nil) }

// Enqueue publishes messages of one topic into the forwarder's table in tx.
func (f *Forwarder) Enqueue(_ context.Context, tx pgx.Tx, messages ...outbox.Message) error {
	if err := f.publish(tx, messages); err != nil {
		return fmt.Errorf("rival: publish for the forwarder: %w", err)
	}
	return nil
}

// PlainTable is the table that Insert writes.
const PlainTable = "watermill_" + plainTopic

const plainTopic = "events"

// MigratePlain creates PlainTable.
func (f *Forwarder) MigratePlain(ctx context.Context) error {
	sub, err := f.subscriber("")
	if err != nil {
		return err
	}
	if err := sub.SubscribeInitialize(plainTopic); err != nil {
		return fmt.Errorf("rival: watermill-sql schema: %w", err)
	}
	return sub.Close()
}

// Insert publishes messages like the forwarder's to watermill-sql in tx, but without the forwarder's
// envelope.
func (f *Forwarder) Insert(_ context.Context, tx pgx.Tx, messages ...outbox.Message) error {
	pub, err := wsql.NewPublisher(wsql.TxFromPgx(tx), wsql.PublisherConfig{SchemaAdapter: f.schema}, nil)
	if err != nil {
		return fmt.Errorf("rival: watermill-sql publisher: %w", err)
	}
	out := make([]*message.Message, len(messages))
	for i := range messages {
		out[i] = watermillMessage(&messages[i])
	}
	if err := pub.Publish(plainTopic, out...); err != nil {
		return fmt.Errorf("rival: publish to watermill-sql: %w", err)
	}
	return nil
}

// Run forwards as a consumer group that starts at the oldest message until ctx ends,
// and calls forwarded for each message that Kafka has acknowledged.
func (f *Forwarder) Run(ctx context.Context, group string, forwarded func(msg *message.Message)) (err error) {
	fwd, pub, err := f.open(group, forwarded)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pub.Close()) }()
	return fwd.Run(ctx)
}
