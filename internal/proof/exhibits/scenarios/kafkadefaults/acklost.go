package kafkadefaults

import (
	"context"
	"errors"
	"net"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// ackLostOnWatermill: the producer sends again a message that the broker has.
func ackLostOnWatermill(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	topic, err := bed.CreateTopic(ctx, "ack-watermill", 1)
	fail.If(err)
	cut := new(cutter)
	fail.If(publish(bed, topic, proxied(cut), "m1"))
	return inTopic(ctx, bed, topic, cut)
}

// proxied is watermill-kafka's default configuration of a publisher, on connections
// that cut makes.
func proxied(cut *cutter) *sarama.Config {
	config := kafka.DefaultSaramaSyncPublisherConfig()
	config.Net.Proxy.Enable, config.Net.Proxy.Dialer = true, cut
	return config
}

// ackLostOnLeat: the broker recognises a message that it has.
func ackLostOnLeat(ctx context.Context, bed *testbed.Testbed) (exhibit.Outcome, error) {
	topic, err := bed.CreateTopic(ctx, "ack-leat", 1)
	fail.If(err)
	cut := new(cutter)
	err = send(ctx, bed, "ack", topic, kafkasink.Config{Options: []kgo.Opt{
		kgo.Dialer(func(ctx context.Context, network, host string) (net.Conn, error) {
			return cut.dial(ctx, network, host)
		}),
	}}, "m1")
	fail.If(err)
	return inTopic(ctx, bed, topic, cut)
}

// inTopic judges the contents of topic.
func inTopic(ctx context.Context, bed *testbed.Testbed, topic string, cut *cutter) (exhibit.Outcome, error) {
	if !cut.done.Load() {
		return exhibit.Outcome{}, errors.New("no answer to a publish was lost")
	}
	ids, err := bed.Read(ctx, topic)
	bed.Say("  the connection was cut before the first answer to a publish; the topic holds: %v", ids)
	return exhibit.Judge(eventsOf("m1"), ids), err
}
