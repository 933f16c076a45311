package rival

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// PublisherConfig is the variable part of a sweep over watermill-kafka's publisher.
type PublisherConfig struct {
	// Callers is the number of goroutines that call Publish at once.
	Callers int
	// Batch is the number of messages in a call.
	Batch int
}

// BestPublisher returns a configuration with many callers, whose messages sarama sends together. Publish
// waits for each message of a call before it sends the next. Runs of BenchmarkPublisherSweep disagree on
// the fastest number of callers above a thousand; fewer are slower.
func BestPublisher() PublisherConfig {
	return PublisherConfig{Callers: 5000, Batch: 100}
}

// SerialPublisher returns a configuration that publishes as a router or the forwarder does: one message
// after the other.
func SerialPublisher() PublisherConfig {
	return PublisherConfig{Callers: 1, Batch: 1}
}

// Publisher is watermill-kafka's publisher without a database behind it, with its default settings, which
// request the acknowledgement of the leader. If the callers divide the keys, the messages of a key are
// always sent by the same caller.
type Publisher struct {
	publisher *kafka.Publisher
	cfg       PublisherConfig
}

// NewPublisher connects to brokers.
func NewPublisher(brokers []string, cfg PublisherConfig) (*Publisher, error) {
	publisher, err := newKafkaPublisher(brokers)
	if err != nil {
		return nil, err
	}
	return &Publisher{publisher: publisher, cfg: cfg}, nil
}

// newKafkaPublisher returns a publisher that partitions by keyMetadata.
func newKafkaPublisher(brokers []string) (*kafka.Publisher, error) {
	publisher, err := kafka.NewPublisher(kafka.PublisherConfig{
		Brokers: brokers,
		Marshaler: kafka.NewWithPartitioningMarshaler(func(_ string, msg *message.Message) (string, error) {
			return msg.Metadata.Get(keyMetadata), nil
		}),
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("rival: watermill-kafka publisher: %w", err)
	}
	return publisher, nil
}

// Close closes the connections.
func (p *Publisher) Close() error {
	if err := p.publisher.Close(); err != nil {
		return fmt.Errorf("rival: watermill-kafka publisher: %w", err)
	}
	return nil
}

// Drain publishes messages, which are in memory, and returns how long that took, until
// the last acknowledgement.
func (p *Publisher) Drain(ctx context.Context, messages []outbox.Message) (time.Duration, error) {
	lanes := make([][]*message.Message, p.cfg.Callers)
	for i := range messages {
		lane := i % p.cfg.Callers
		lanes[lane] = append(lanes[lane], watermillMessage(&messages[i]))
	}
	errs := make([]error, p.cfg.Callers)
	var callers sync.WaitGroup
	began := time.Now()
	for i, lane := range lanes {
		callers.Go(func() { errs[i] = p.publish(ctx, messages[0].Topic, lane) })
	}
	callers.Wait()
	took := time.Since(began)
	if err := errors.Join(errs...); err != nil {
		return 0, fmt.Errorf("rival: watermill-kafka: %w", err)
	}
	return took, nil
}

// publish sends the messages of one caller.
func (p *Publisher) publish(ctx context.Context, topic string, messages []*message.Message) error {
	for at := 0; at < len(messages); at += p.cfg.Batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.publisher.Publish(topic, messages[at:min(at+p.cfg.Batch, len(messages))]...); err != nil {
			return err
		}
	}
	return nil
}

func watermillMessage(m *outbox.Message) *message.Message {
	msg := message.NewMessage(m.ID, m.Payload)
	msg.Metadata.Set(keyMetadata, m.Key)
	return msg
}
