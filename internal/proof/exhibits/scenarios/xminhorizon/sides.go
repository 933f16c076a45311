package xminhorizon

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
)

// looks is a number of queries. A message that has not arrived after that many queries of the subscriber
// counts as delayed.
const looks = 25

// counting is the default schema, and counts the subscriber's queries.
type counting struct {
	sql.DefaultPostgreSQLSchema
	queries *atomic.Int64
}

// SelectQuery implements sql.SchemaAdapter.
func (c counting) SelectQuery(params sql.SelectQueryParams) (sql.Query, error) {
	c.queries.Add(1)
	return c.DefaultPostgreSQLSchema.SelectQuery(params)
}

func onWatermillSQL(topic string, foreign foreign) exhibit.Side {
	return func(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
		schema := counting{queries: new(atomic.Int64)}
		sub, err := sql.NewSubscriber(sql.BeginnerFromPgx(bed.Pool), sql.SubscriberConfig{
			SchemaAdapter: schema, OffsetsAdapter: sql.DefaultPostgreSQLOffsetsAdapter{},
			PollInterval: 20 * time.Millisecond, InitializeSchema: true,
		}, nil)
		if err != nil {
			return exhibit.Outcome{}, err
		}
		arrived, err := sub.Subscribe(ctx, topic)
		if err != nil {
			return exhibit.Outcome{}, err
		}
		end, err := foreign(ctx, bed)
		if err != nil {
			return exhibit.Outcome{}, err
		}
		var log testbed.Log
		var committed []exhibit.Event
		if committed, err = publish(bed, topic); err == nil {
			err = look(ctx, schema.queries, arrived, &log)
		}
		late := len(committed) - len(log.IDs())
		bed.Say("  %d looks later, %d of %d have arrived; the foreign transaction ends", looks, len(log.IDs()), len(committed))
		err = errors.Join(err, end())
		for err == nil && len(log.IDs()) < len(committed) {
			var msg *message.Message
			if msg, err = testbed.Next(ctx, arrived); err == nil {
				log.Add(msg.UUID)
				msg.Ack()
			}
		}
		bed.Say("  now %d have", len(log.IDs()))
		o := exhibit.Judge(committed, log.IDs())
		o.Late = late
		return o, errors.Join(err, sub.Close())
	}
}

// publish commits the messages, each in a transaction of its own.
func publish(bed *testbed.Testbed, topic string) ([]exhibit.Event, error) {
	pub, err := sql.NewPublisher(sql.BeginnerFromPgx(bed.Pool), sql.PublisherConfig{
		SchemaAdapter: sql.DefaultPostgreSQLSchema{},
	}, nil)
	if err != nil {
		return nil, err
	}
	var committed []exhibit.Event
	for n := range messages {
		id := "m" + strconv.Itoa(n+1)
		if err := pub.Publish(topic, message.NewMessage(id, []byte(`{}`))); err != nil {
			return nil, err
		}
		committed = append(committed, exhibit.Event{ID: id})
	}
	bed.Say("  a foreign transaction is open, %d messages are committed", messages)
	return committed, nil
}

// look takes the messages that arrive until the subscriber has made looks more queries.
func look(ctx context.Context, queries *atomic.Int64, arrived <-chan *message.Message, log *testbed.Log) error {
	until := queries.Load() + looks
	return testbed.Until(ctx, func(context.Context) (bool, error) {
		select {
		case msg := <-arrived:
			log.Add(msg.UUID)
			msg.Ack()
		default:
		}
		return queries.Load() >= until, nil
	})
}

func onLeat(name string, foreign foreign) exhibit.Side {
	return func(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
		ob, err := bed.Outbox(ctx, name)
		if err != nil {
			return exhibit.Outcome{}, err
		}
		end, err := foreign(ctx, bed)
		if err != nil {
			return exhibit.Outcome{}, err
		}
		var committed []exhibit.Event
		for n := range messages {
			id := "m" + strconv.Itoa(n+1)
			err = errors.Join(err, testbed.Enqueue(ctx, ob, "orders", "", id))
			committed = append(committed, exhibit.Event{ID: id})
		}
		bed.Say("  a foreign transaction is open, %d messages are committed", messages)
		var log testbed.Log
		if err == nil {
			err = testbed.Drain(ctx, ob, log.Sink())
		}
		late := len(committed) - len(log.IDs())
		bed.Say("  the relay has looked once, %d of %d have arrived; the foreign transaction ends", len(log.IDs()), len(committed))
		if err = errors.Join(err, end()); err == nil {
			err = testbed.Drain(ctx, ob, log.Sink())
		}
		o := exhibit.Judge(committed, log.IDs())
		o.Late = late
		return o, err
	}
}
