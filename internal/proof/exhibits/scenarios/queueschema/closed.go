package queueschema

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
)

// consumer starts a process that reads a topic.
type consumer func() (message.Subscriber, error)

// halfway handles the first message, closes the subscriber while it processes the second one, and starts
// another subscriber, which reads until the marker.
func halfway(ctx context.Context, bed *testbed.Testbed, topic string, start consumer, handle message.NoPublishHandlerFunc, sendMarker func() error) error {
	sub, err := start()
	if err != nil {
		return err
	}
	if err := take(ctx, sub, topic, func(n int, msg *message.Message) (bool, error) {
		if n == 2 {
			bed.Say("  %s is in hand as the subscriber is closed", msg.UUID)
			return true, sub.Close()
		}
		bed.Say("  %s is handled and acknowledged", msg.UUID)
		err := handle(msg)
		msg.Ack()
		return false, err
	}); err != nil {
		return err
	}
	if err := sendMarker(); err != nil {
		return err
	}
	if sub, err = start(); err != nil {
		return err
	}
	err = take(ctx, sub, topic, func(_ int, msg *message.Message) (bool, error) {
		bed.Say("  after the restart %s arrives", msg.UUID)
		err := handle(msg)
		msg.Ack()
		return msg.UUID == marker, err
	})
	return errors.Join(err, sub.Close())
}

// take calls each for the messages of topic, numbered from 1, until each returns true or an error.
func take(ctx context.Context, sub message.Subscriber, topic string, each func(n int, msg *message.Message) (bool, error)) error {
	messages, err := sub.Subscribe(ctx, topic)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		msg, err := testbed.Next(ctx, messages)
		if err != nil {
			return err
		}
		if done, err := each(n, msg); done || err != nil {
			return err
		}
	}
}

func closedOnQueue(size int) exhibit.Side {
	return func(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
		q := queue{bed: bed, topic: "closed_" + batchName(size), size: size}
		if err := q.publish(batch()...); err != nil {
			return exhibit.Outcome{}, err
		}
		var log testbed.Log
		start := func() (message.Subscriber, error) { return q.subscriber(30 * time.Second) }
		err := halfway(ctx, bed, q.topic, start, func(msg *message.Message) error {
			log.Add(msg.UUID)
			return nil
		}, func() error { return q.publish(marker) })
		return exhibit.Judge(committed(), log.IDs()), err
	}
}

func batchName(size int) string {
	if size == safestBatch {
		return "one"
	}
	return "default"
}

// closedOnLeat carries the messages to Kafka and consumes them there.
func closedOnLeat(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	p, err := newPath(ctx, bed, "closed")
	if err != nil {
		return exhibit.Outcome{}, err
	}
	start := func() (message.Subscriber, error) {
		return kafkasource.NewSubscriber(bed.Brokers, bed.Name("closed"), kafkasource.Config{
			DrainTimeout: 200 * time.Millisecond, // short, since the message in hand is never acknowledged
		})
	}
	handle := p.in.Handle(func(ctx context.Context, msg *message.Message) error {
		tx := pginbox.Tx(ctx)
		_, err := tx.Exec(ctx, p.effects.Insert, msg.UUID)
		return err
	})
	if err := p.publish(ctx, batch()...); err != nil {
		return exhibit.Outcome{}, err
	}
	err = halfway(ctx, bed, p.topic, start, handle, func() error { return p.publish(ctx, marker) })
	if err != nil {
		return exhibit.Outcome{}, err
	}
	done, err := p.effects.IDs(ctx)
	return exhibit.Judge(committed(), done), err
}
