package xminhorizon

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/stage"
	"github.com/leat-go/leat/outbox"
)

// looks is how often the subscriber has to look in vain, after the messages were
// committed, to count as held up.
const looks = 25

// counting is the default schema; it counts the looks.
type counting struct {
	sql.DefaultPostgreSQLSchema
	queries *atomic.Int64
}

// SelectQuery implements sql.SchemaAdapter.
func (c counting) SelectQuery(params sql.SelectQueryParams) (sql.Query, error) {
	c.queries.Add(1)
	return c.DefaultPostgreSQLSchema.SelectQuery(params)
}

func onWatermillSQL(topic string, foreign foreign) gallery.Side {
	return func(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
		schema := counting{queries: new(atomic.Int64)}
		sub, err := sql.NewSubscriber(sql.BeginnerFromPgx(s.Pool), sql.SubscriberConfig{
			SchemaAdapter: schema, OffsetsAdapter: sql.DefaultPostgreSQLOffsetsAdapter{},
			PollInterval: 20 * time.Millisecond, InitializeSchema: true,
		}, nil)
		if err != nil {
			return gallery.Outcome{}, err
		}
		arrived, err := sub.Subscribe(ctx, topic)
		if err != nil {
			return gallery.Outcome{}, err
		}
		end, err := foreign(ctx, s)
		if err != nil {
			return gallery.Outcome{}, err
		}
		var log stage.Log
		var committed []gallery.Event
		if committed, err = publish(s, topic); err == nil {
			err = look(ctx, schema.queries, arrived, &log)
		}
		late := len(committed) - len(log.IDs())
		s.Say("  %d looks later, %d of %d have arrived; the foreign transaction ends", looks, len(log.IDs()), len(committed))
		err = errors.Join(err, end())
		for err == nil && len(log.IDs()) < len(committed) {
			err = take(ctx, arrived, &log)
		}
		s.Say("  now %d have", len(log.IDs()))
		o := gallery.Judge(committed, log.IDs())
		o.Late = late
		return o, errors.Join(err, sub.Close())
	}
}

// publish commits the messages, each in a transaction of its own.
func publish(s *stage.Stage, topic string) ([]gallery.Event, error) {
	pub, err := sql.NewPublisher(sql.BeginnerFromPgx(s.Pool), sql.PublisherConfig{
		SchemaAdapter: sql.DefaultPostgreSQLSchema{},
	}, nil)
	if err != nil {
		return nil, err
	}
	var committed []gallery.Event
	for n := range messages {
		id := "m" + strconv.Itoa(n+1)
		if err := pub.Publish(topic, message.NewMessage(id, []byte(`{}`))); err != nil {
			return nil, err
		}
		committed = append(committed, gallery.Event{ID: id})
	}
	s.Say("  a foreign transaction is open, %d messages are committed", messages)
	return committed, nil
}

// look takes what arrives until the subscriber has looked often enough.
func look(ctx context.Context, queries *atomic.Int64, arrived <-chan *message.Message, log *stage.Log) error {
	until := queries.Load() + looks
	return stage.Until(ctx, func(context.Context) (bool, error) {
		select {
		case msg := <-arrived:
			log.Add(msg.UUID)
			msg.Ack()
		default:
		}
		return queries.Load() >= until, nil
	})
}

func take(ctx context.Context, arrived <-chan *message.Message, log *stage.Log) error {
	select {
	case msg, open := <-arrived:
		if !open {
			return errors.New("the subscriber has ended")
		}
		log.Add(msg.UUID)
		msg.Ack()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func onLeat(name string, foreign foreign) gallery.Side {
	return func(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
		ob, err := s.Outbox(ctx, name)
		if err != nil {
			return gallery.Outcome{}, err
		}
		end, err := foreign(ctx, s)
		if err != nil {
			return gallery.Outcome{}, err
		}
		var committed []gallery.Event
		for n := range messages {
			id := "m" + strconv.Itoa(n+1)
			err = errors.Join(err, ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
				return ob.Enqueue(ctx, tx, outbox.Message{ID: id, Topic: "orders"})
			}))
			committed = append(committed, gallery.Event{ID: id})
		}
		s.Say("  a foreign transaction is open, %d messages are committed", messages)
		var log stage.Log
		if err == nil {
			err = stage.Drain(ctx, ob, log.Sink())
		}
		late := len(committed) - len(log.IDs())
		s.Say("  the relay has looked once, %d of %d have arrived; the foreign transaction ends", len(log.IDs()), len(committed))
		if err = errors.Join(err, end()); err == nil {
			err = stage.Drain(ctx, ob, log.Sink())
		}
		o := gallery.Judge(committed, log.IDs())
		o.Late = late
		return o, err
	}
}
