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

	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
	"github.com/leat-go/leat/outbox"
)

// Scenario is AuditFirst or EventFirst.
type Scenario func(ctx context.Context, bed *testbed.Testbed, publish Publish) ([]exhibit.Event, error)

// OnWatermillSQL plays a scenario with watermill-sql's publisher, and reads with its subscriber after both
// transactions have committed.
func OnWatermillSQL(play Scenario, topic string, schema sql.SchemaAdapter, cfg sql.SubscriberConfig) exhibit.Side {
	return func(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
		cfg.SchemaAdapter, cfg.InitializeSchema = schema, true
		sub, err := sql.NewSubscriber(sql.BeginnerFromPgx(bed.Pool), cfg, nil)
		if err != nil {
			return exhibit.Outcome{}, err
		}
		if err := sub.SubscribeInitialize(topic); err != nil {
			return exhibit.Outcome{}, err
		}
		n := 0
		committed, err := play(ctx, bed, func(_ context.Context, tx pgx.Tx, event string) error {
			pub, err := sql.NewPublisher(sql.TxFromPgx(tx), sql.PublisherConfig{SchemaAdapter: schema}, nil)
			if err != nil {
				return err
			}
			n++
			return pub.Publish(topic, message.NewMessage("m"+strconv.Itoa(n), fmt.Appendf(nil, "%q", event)))
		})
		if err != nil {
			return exhibit.Outcome{}, err
		}
		arrived, err := read(ctx, bed, sub, topic, len(committed))
		return exhibit.Judge(committed, arrived), errors.Join(err, sub.Close())
	}
}

// read returns the payloads of the first n messages of topic.
func read(ctx context.Context, bed *testbed.Testbed, sub message.Subscriber, topic string, n int) ([]string, error) {
	messages, err := sub.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	var arrived []string
	for len(arrived) < n {
		msg, err := testbed.Next(ctx, messages)
		if err != nil {
			return nil, err
		}
		var event string
		if err := json.Unmarshal(msg.Payload, &event); err != nil {
			return nil, err
		}
		bed.Say("  arrives: the %s", event)
		arrived = append(arrived, event)
		msg.Ack()
	}
	return arrived, nil
}

// OnLeat plays a scenario with an outbox, and reads with a relay after both transactions have committed.
func OnLeat(play Scenario, name string) exhibit.Side {
	return func(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
		ob, err := bed.Outbox(ctx, name)
		if err != nil {
			return exhibit.Outcome{}, err
		}
		committed, err := play(ctx, bed, func(ctx context.Context, tx pgx.Tx, event string) error {
			return ob.Enqueue(ctx, tx, outbox.Message{ID: event, Topic: "accounts", Key: Key})
		})
		if err != nil {
			return exhibit.Outcome{}, err
		}
		var log testbed.Log
		err = testbed.Drain(ctx, ob, log.Sink())
		for _, event := range log.IDs() {
			bed.Say("  arrives: the %s", event)
		}
		return exhibit.Judge(committed, log.IDs()), err
	}
}
