package kafkadefaults

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
	"github.com/leat-go/leat/outbox/kafkasink"
)

const (
	partitions = 4
	// many is a number of messages that is too large for all of them to get into one partition by chance.
	many = 30
	// slow is how long the first handler takes. It ends earlier if another handler is done first.
	slow = time.Second
)

func numbered() []string {
	ids := make([]string, many)
	for i := range ids {
		ids[i] = "m" + strconv.Itoa(i+1)
	}
	return ids
}

func keyOnWatermill(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	topic, err := bed.CreateTopic(ctx, "key-watermill", partitions)
	fail.If(err)
	fail.If(publish(bed, topic, nil, numbered()...))
	return consume(ctx, bed, topic, "key-watermill")
}

func keyOnLeat(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	topic, err := bed.CreateTopic(ctx, "key-leat", partitions)
	fail.If(err)
	fail.If(send(ctx, bed, "key", topic, kafkasink.Config{}, numbered()...))
	return consume(ctx, bed, topic, "key-leat")
}

// consume handles all messages with watermill-kafka's subscriber, which processes one message of each
// partition at a time. The handler of the first message is slow.
func consume(ctx context.Context, bed *testbed.Testbed, topic, group string) (exhibit.Outcome, error) {
	sub, err := subscriber(bed, bed.Name(group))
	fail.If(err)
	var log testbed.Log
	overtaken, all := make(chan struct{}, many), make(chan struct{})
	service, err := testbed.StartService(ctx, topic, sub, func(msg *message.Message) error {
		if msg.UUID == "m1" {
			wait(ctx, overtaken)
		}
		if n := log.Add(msg.UUID); n == many {
			close(all)
		}
		overtaken <- struct{}{}
		return nil
	})
	fail.If(err)
	err = errors.Join(testbed.Wait(ctx, all), service.Stop())
	ids := log.IDs()
	bed.Say("  handled in this order: %v …", ids[:min(8, len(ids))])
	return exhibit.Judge(eventsOf(numbered()...), ids), err
}

// wait returns when another message was handled, or after slow.
func wait(ctx context.Context, overtaken <-chan struct{}) {
	timer := time.NewTimer(slow)
	defer timer.Stop()
	select {
	case <-overtaken:
	case <-timer.C:
	case <-ctx.Done():
	}
}
