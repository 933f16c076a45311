package kafkadefaults

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
)

// marker is the id of a message that is sent until it arrives. When it arrives, earlier messages have
// arrived or never will, since all have the same key.
const (
	marker      = "marker"
	markerEvery = 200 * time.Millisecond
)

func newestOnWatermill(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	return meanwhile(ctx, bed, "newest-watermill", func(group string) (message.Subscriber, error) {
		return kafka.NewSubscriber(kafka.SubscriberConfig{Brokers: bed.Brokers, ConsumerGroup: group}, nil)
	})
}

func newestOnLeat(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	return meanwhile(ctx, bed, "newest-leat", func(group string) (message.Subscriber, error) {
		return kafkasource.NewSubscriber(bed.Brokers, group, kafkasource.Config{})
	})
}

// meanwhile runs a consumer that receives nothing and stops, sends three messages, and runs the consumer
// again.
func meanwhile(ctx context.Context, bed *testbed.Testbed, name string, start func(group string) (message.Subscriber, error)) (exhibit.Outcome, error) {
	topic, err := bed.CreateTopic(ctx, name, 1)
	fail.If(err)
	group := bed.Name(name)
	sub, err := start(group)
	fail.If(err)
	_, err = sub.Subscribe(ctx, topic)
	if err == nil {
		err = bed.Joined(ctx, group, 1)
	}
	fail.If(errors.Join(err, sub.Close()))
	bed.Say("  the group has read the topic, which was empty, and has stopped")
	sent := []string{"m1", "m2", "m3"}
	fail.If(publishAs(bed, topic, nil, byKey(), sent...))
	bed.Say("  sent meanwhile: %v", sent)
	sub, err = start(group)
	fail.If(err)
	arrived, err := untilMarker(ctx, bed, sub, topic)
	bed.Say("  the group has started again, and has got: %v", arrived)
	return exhibit.Judge(eventsOf(sent...), arrived), errors.Join(err, sub.Close())
}

// untilMarker returns the messages that arrive before the marker. It sends the marker again and again
// until it arrives.
func untilMarker(ctx context.Context, bed *testbed.Testbed, sub message.Subscriber, topic string) (arrived []string, err error) {
	messages, err := sub.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(markerEvery)
	defer ticker.Stop()
	for {
		select {
		case msg, open := <-messages:
			if !open {
				return nil, errors.Join(errors.New("the subscriber has ended"), context.Cause(ctx))
			}
			if msg.UUID == marker {
				return arrived, nil
			}
			arrived = append(arrived, msg.UUID)
			msg.Ack()
		case <-ticker.C:
			if err := publishAs(bed, topic, nil, byKey(), marker); err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
