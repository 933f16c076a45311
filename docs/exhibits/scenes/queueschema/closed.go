package queueschema

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/stage"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// consumer is a process that reads a topic.
type consumer func() (message.Subscriber, error)

// halfway handles the first message, is closed while it has the second in its
// hands, and starts again; the second process reads on until the marker.
func halfway(ctx context.Context, s *stage.Stage, topic string, start consumer, handle message.NoPublishHandlerFunc, sendMarker func() error) error {
	sub, err := start()
	if err != nil {
		return err
	}
	if err := take(ctx, sub, topic, func(n int, msg *message.Message) (bool, error) {
		if n == 2 {
			s.Say("  %s is in hand as the subscriber is closed", msg.UUID)
			return true, sub.Close()
		}
		s.Say("  %s is handled and acknowledged", msg.UUID)
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
		s.Say("  after the restart %s arrives", msg.UUID)
		err := handle(msg)
		msg.Ack()
		return msg.UUID == marker, err
	})
	return errors.Join(err, sub.Close())
}

// take calls each for the messages of topic, numbered from 1, until it says that
// it is done.
func take(ctx context.Context, sub message.Subscriber, topic string, each func(n int, msg *message.Message) (bool, error)) error {
	messages, err := sub.Subscribe(ctx, topic)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		msg, open := <-messages
		if !open {
			return errors.Join(errors.New("the subscriber has ended"), context.Cause(ctx))
		}
		if done, err := each(n, msg); done || err != nil {
			return err
		}
	}
}

func closedOnQueue(size int) gallery.Side {
	return func(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
		q := queue{stage: s, topic: "closed_" + batchName(size), size: size}
		if err := q.publish(batch()...); err != nil {
			return gallery.Outcome{}, err
		}
		var log stage.Log
		start := func() (message.Subscriber, error) { return q.subscriber(30 * time.Second) }
		err := halfway(ctx, s, q.topic, start, func(msg *message.Message) error {
			log.Add(msg.UUID)
			return nil
		}, func() error { return q.publish(marker) })
		return gallery.Judge(committed(), log.IDs()), err
	}
}

func batchName(size int) string {
	if size == safestBatch {
		return "one"
	}
	return "default"
}

// closedOnLeat carries the messages to Kafka and consumes them there.
func closedOnLeat(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
	p, err := newPath(ctx, s, "closed")
	if err != nil {
		return gallery.Outcome{}, err
	}
	start := func() (message.Subscriber, error) {
		return kafkasource.NewSubscriber(s.Brokers, s.Name("closed"), kafkasource.Config{
			DrainTimeout: 200 * time.Millisecond, // the message in hand is never given back
		})
	}
	handle := pginbox.Handle(p.in, func(ctx context.Context, tx pgx.Tx, msg *message.Message) error {
		_, err := tx.Exec(ctx, p.effects.Insert, msg.UUID)
		return err
	})
	if err := p.publish(ctx, batch()...); err != nil {
		return gallery.Outcome{}, err
	}
	err = halfway(ctx, s, p.topic, start, handle, func() error { return p.publish(ctx, marker) })
	if err != nil {
		return gallery.Outcome{}, err
	}
	done, err := p.effects.IDs(ctx)
	return gallery.Judge(committed(), done), err
}

// path is the whole way on leat: outbox, relay, Kafka, inbox.
type path struct {
	stage   *stage.Stage
	topic   string
	ob      *pgoutbox.Outbox
	in      *pginbox.Inbox
	effects *stage.Effects
}

func newPath(ctx context.Context, s *stage.Stage, name string) (*path, error) {
	p := &path{stage: s}
	var errs [4]error
	p.topic, errs[0] = s.CreateTopic(ctx, name, 3)
	p.ob, errs[1] = s.Outbox(ctx, name)
	p.in, errs[2] = s.Inbox(ctx, name)
	p.effects, errs[3] = s.Effects(ctx, name)
	return p, errors.Join(errs[:]...)
}

// publish commits messages in one transaction, and relays them.
func (p *path) publish(ctx context.Context, ids ...string) error {
	err := p.ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		for _, id := range ids {
			err := p.ob.Enqueue(ctx, tx, outbox.Message{ID: id, Topic: p.topic, Key: key, Payload: []byte(`{}`)})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return p.stage.Carry(ctx, p.ob, kafkasink.Config{})
}
