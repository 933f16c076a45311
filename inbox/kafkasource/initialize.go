package kafkasource

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/outbox"
)

// initializeTimeout bounds SubscribeInitialize.
const initializeTimeout = 30 * time.Second

// NewTopic has the settings of a topic that is created.
type NewTopic struct {
	// Partitions is the number of partitions. Defaults to the cluster's num.partitions.
	Partitions int32
	// ReplicationFactor is the number of brokers that keep a partition. Defaults to the
	// cluster's default.replication.factor.
	ReplicationFactor int16
	// Configs are settings of the topic such as retention.ms. Defaults to the cluster's.
	Configs map[string]string
}

var _ message.SubscribeInitializer = (*Subscriber)(nil)

// SubscribeInitialize implements message.SubscribeInitializer: if the topic is missing, it
// creates it with the settings of Config.NewTopic. It returns once every partition can be read. A
// topic that exists is not changed; then only the right to describe it is needed. Components of
// Watermill such as the forwarder call it; Subscribe does not, and waits for a missing topic. It
// takes 30 s at most. Errors wrap outbox.ErrInvalidConfig for an empty topic, outbox.ErrClosed
// after Close, context.Canceled if Close is called during the call, or are the cluster's.
func (s *Subscriber) SubscribeInitialize(topic string) error {
	if topic == "" {
		return outbox.ConfigError("topic", strconv.Quote(topic), "must not be empty")
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return fmt.Errorf("initialize %.200q: %w", topic, errClosed)
	}
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()
	ctx, cancel := context.WithTimeout(context.Background(), initializeTimeout)
	defer cancel()
	go func() {
		select {
		case <-s.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	m := &member{subscription: &subscription{brokers: s.brokers, topic: topic, cfg: s.cfg}}
	m.cfg.NoGroup = true
	client, err := kgo.NewClient(m.options()...)
	if err != nil {
		return err
	}
	defer client.Close()
	m.client = client
	if err := m.create(ctx); err != nil {
		return fmt.Errorf("leat: initialize topic %.200q: %w", topic, err)
	}
	return nil
}

// create makes the topic if it is missing and waits until it can be read.
func (m *member) create(ctx context.Context) error {
	admin := kadm.NewClient(m.client)
	_, _, err := m.describe(ctx)
	right := "READ"
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		right, err = "CREATE", m.cfg.NewTopic.create(ctx, admin, m.topic)
	}
	if err != nil && !kerr.IsRetriable(err) {
		return needsTopic(err, right, m.topic)
	}
	for {
		starts, err := admin.ListStartOffsets(ctx, m.topic)
		if err = errors.Join(err, starts.Error()); err == nil && len(starts[m.topic]) > 0 {
			return nil
		}
		if err != nil && !kerr.IsRetriable(err) {
			return err
		}
		pause(ctx, jitter.Around(50*time.Millisecond, 0.25), nil)
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
}

func (n NewTopic) create(ctx context.Context, admin *kadm.Client, topic string) error {
	partitions, replicas := int32(-1), int16(-1)
	if n.Partitions > 0 {
		partitions = n.Partitions
	}
	if n.ReplicationFactor > 0 {
		replicas = n.ReplicationFactor
	}
	configs := make(map[string]*string, len(n.Configs))
	for name, value := range n.Configs {
		configs[name] = &value
	}
	_, err := admin.CreateTopic(ctx, partitions, replicas, configs, topic)
	if errors.Is(err, kerr.TopicAlreadyExists) {
		return nil // another was faster
	}
	return err
}
