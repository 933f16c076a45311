package overlap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/stage"
	"github.com/leat-go/leat/outbox"
)

// Scenario is AuditFirst or EventFirst.
type Scenario func(ctx context.Context, s *stage.Stage, publish Publish) ([]gallery.Event, error)

// OnWatermillSQL plays a scenario with watermill-sql's publisher, and reads with
// its subscriber after both have committed.
func OnWatermillSQL(play Scenario, topic string, schema sql.SchemaAdapter, cfg sql.SubscriberConfig) gallery.Side {
	return func(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
		cfg.SchemaAdapter, cfg.InitializeSchema = schema, true
		sub, err := sql.NewSubscriber(sql.BeginnerFromPgx(s.Pool), cfg, nil)
		if err != nil {
			return gallery.Outcome{}, err
		}
		if err := sub.SubscribeInitialize(topic); err != nil {
			return gallery.Outcome{}, err
		}
		n := 0
		committed, err := play(ctx, s, func(_ context.Context, tx pgx.Tx, event string) error {
			pub, err := sql.NewPublisher(sql.TxFromPgx(tx), sql.PublisherConfig{SchemaAdapter: schema}, nil)
			if err != nil {
				return err
			}
			n++
			return pub.Publish(topic, message.NewMessage("m"+strconv.Itoa(n), fmt.Appendf(nil, "%q", event)))
		})
		if err != nil {
			return gallery.Outcome{}, err
		}
		arrived, err := read(ctx, s, sub, topic, len(committed))
		return gallery.Judge(committed, arrived), errors.Join(err, sub.Close())
	}
}

// read returns the payloads of the first n messages of topic.
func read(ctx context.Context, s *stage.Stage, sub message.Subscriber, topic string, n int) ([]string, error) {
	messages, err := sub.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	var arrived []string
	for len(arrived) < n {
		msg, open := <-messages
		if !open {
			return nil, errors.Join(errors.New("the subscriber has ended"), context.Cause(ctx))
		}
		var event string
		if err := json.Unmarshal(msg.Payload, &event); err != nil {
			return nil, err
		}
		s.Say("  arrives: the %s", event)
		arrived = append(arrived, event)
		msg.Ack()
	}
	return arrived, nil
}

// OnLeat plays a scenario with an outbox, and reads with a relay after both have
// committed.
func OnLeat(play Scenario, name string) gallery.Side {
	return func(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
		ob, err := s.Outbox(ctx, name)
		if err != nil {
			return gallery.Outcome{}, err
		}
		committed, err := play(ctx, s, func(ctx context.Context, tx pgx.Tx, event string) error {
			return ob.Enqueue(ctx, tx, outbox.Message{ID: event, Topic: "accounts", Key: Key})
		})
		if err != nil {
			return gallery.Outcome{}, err
		}
		var log stage.Log
		err = stage.Drain(ctx, ob, log.Sink())
		for _, event := range log.IDs() {
			s.Say("  arrives: the %s", event)
		}
		return gallery.Judge(committed, log.IDs()), err
	}
}
