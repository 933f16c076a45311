package kafkadefaults

import (
	"context"
	"errors"
	"net"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/stage"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// ackLostOnWatermill: the producer sends again what the broker has.
func ackLostOnWatermill(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
	topic, err := s.CreateTopic(ctx, "ack-watermill", 1)
	if err != nil {
		return gallery.Outcome{}, err
	}
	cut := new(cutter)
	if err := publish(s, topic, proxied(cut), "m1"); err != nil {
		return gallery.Outcome{}, err
	}
	return inTopic(ctx, s, topic, cut)
}

// proxied is watermill-kafka's default configuration of a publisher, on connections
// that cut makes.
func proxied(cut *cutter) *sarama.Config {
	config := kafka.DefaultSaramaSyncPublisherConfig()
	config.Net.Proxy.Enable, config.Net.Proxy.Dialer = true, cut
	return config
}

// ackLostOnLeat: the broker recognises what it has.
func ackLostOnLeat(ctx context.Context, s *stage.Stage) (gallery.Outcome, error) {
	topic, err := s.CreateTopic(ctx, "ack-leat", 1)
	if err != nil {
		return gallery.Outcome{}, err
	}
	cut := new(cutter)
	err = send(ctx, s, "ack", topic, kafkasink.Config{Options: []kgo.Opt{
		kgo.Dialer(func(ctx context.Context, network, host string) (net.Conn, error) {
			return cut.dial(ctx, network, host)
		}),
	}}, "m1")
	if err != nil {
		return gallery.Outcome{}, err
	}
	return inTopic(ctx, s, topic, cut)
}

// inTopic judges what topic holds.
func inTopic(ctx context.Context, s *stage.Stage, topic string, cut *cutter) (gallery.Outcome, error) {
	if !cut.done.Load() {
		return gallery.Outcome{}, errors.New("no answer to a publish was lost")
	}
	ids, err := s.Read(ctx, topic)
	s.Say("  the connection was cut before the first answer to a publish; the topic holds: %v", ids)
	return gallery.Judge(eventsOf("m1"), ids), err
}
