package bench_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wmsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
)

// rival is watermill-sql with one of its schemas.
type rival struct {
	meter

	db      *sql.DB
	schema  wmsql.SchemaAdapter
	offsets wmsql.OffsetsAdapter
}

func defaultOf(s side, batch int) rival {
	return rival{
		s.meter, s.watermill, wmsql.DefaultMySQLSchema{SubscribeBatchSize: batch}, wmsql.DefaultMySQLOffsetsAdapter{},
	}
}

// queueOf returns a rival with a table of its own, separate from that of the default schema.
func queueOf(s side, batch int) rival {
	schema := wmsql.MySQLQueueSchema{SubscribeBatchSize: batch, GenerateMessagesTableName: func(string) string { return "`queue`" }}
	return rival{s.meter, s.watermill, schema, wmsql.MySQLQueueOffsetsAdapter{DeleteOnAck: true}}
}

// drains publishes a backlog, and measures how it is received and, if send is not nil, sent.
func (r rival) drains(b *testing.B, n int, send func(ctx context.Context, msg *message.Message) error) func(int) (spent, error) {
	b.Helper()
	return func(int) (spent, error) {
		sub, err := wmsql.NewSubscriber(wmsql.BeginnerFromStdSQL(r.db), wmsql.SubscriberConfig{
			SchemaAdapter: r.schema, OffsetsAdapter: r.offsets, InitializeSchema: true, PollInterval: time.Millisecond,
		}, watermill.NopLogger{})
		if err != nil {
			return spent{}, err
		}
		defer func() { _ = sub.Close() }()
		if err := sub.SubscribeInitialize(topic); err != nil {
			return spent{}, err
		}
		if err := r.publish(n); err != nil {
			return spent{}, err
		}
		return r.measure(func() error { return receive(b.Context(), sub, n, send) })
	}
}

func (r rival) publish(n int) error {
	pub, err := wmsql.NewPublisher(wmsql.BeginnerFromStdSQL(r.db), wmsql.PublisherConfig{SchemaAdapter: r.schema}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	all := make([]*message.Message, n)
	for i := range all {
		all[i] = message.NewMessage(watermill.NewUUID(), []byte(`"`+fmt.Sprintf("%0510d", i)+`"`))
	}
	for part := range slices.Chunk(all, 1000) {
		if err := pub.Publish(topic, part...); err != nil {
			return err
		}
	}
	return nil
}

func receive(
	ctx context.Context, sub message.Subscriber, n int, send func(ctx context.Context, msg *message.Message) error,
) error {
	received, err := sub.Subscribe(ctx, topic)
	if err != nil {
		return err
	}
	for range n {
		select {
		case msg := <-received:
			if send != nil {
				if err := send(ctx, msg); err != nil {
					return err
				}
			}
			msg.Ack()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
