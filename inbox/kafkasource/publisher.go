package kafkasource

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// PublisherConfig tunes a Publisher. The zero value is a good start.
type PublisherConfig struct {
	// Options are applied to the client: TLS, SASL, client id, compression,
	// partitioner. Acks from all in-sync replicas and idempotence are not to be
	// changed. Defaults to none; keys choose partitions as in the
	// Java client; in a topic that watermill-kafka writes as well, use SaramaPartitioner.
	Options []kgo.Opt

	// Key returns the record's key; an empty one means none.
	// Defaults to outbox.KeyFromMetadata.
	Key outbox.KeyFunc

	// PublishTimeout bounds how long Publish waits for the cluster. If a message was not
	// written in three quarters of it, the client gives it up, after a second at the
	// earliest: a cluster that comes back must not get a message whose publisher was told
	// long ago that it failed. Defaults to 30 s.
	PublishTimeout time.Duration
}

// Publisher is a message.Publisher. Subscribers of this package and of watermill-kafka
// read its messages as they were. It waits until all in-sync replicas have a message. It
// is for messages that belong to no transaction; the others belong into the outbox. It is
// safe for concurrent use.
type Publisher struct {
	cfg    PublisherConfig
	client *kgo.Client

	mu      sync.RWMutex
	closed  bool
	sending sync.WaitGroup
}

var _ message.Publisher = (*Publisher)(nil)

// NewPublisher returns a Publisher on the cluster that it finds through brokers,
// which are host:port. It does not connect. The error wraps
// outbox.ErrInvalidConfig. The caller must Close the Publisher.
func NewPublisher(brokers []string, cfg PublisherConfig) (*Publisher, error) {
	if len(brokers) == 0 {
		return nil, outbox.ConfigError("brokers", brokers, "must name at least one")
	}
	if cfg.PublishTimeout < 0 {
		return nil, outbox.ConfigError("PublishTimeout", cfg.PublishTimeout, "must be positive")
	}
	if cfg.PublishTimeout == 0 {
		cfg.PublishTimeout = 30 * time.Second
	}
	if cfg.Key == nil {
		cfg.Key = outbox.KeyFromMetadata
	}
	opts := append([]kgo.Opt{
		kgo.ClientID("leat"), kgo.MetadataMinAge(250 * time.Millisecond), kgo.ProducerLinger(0),
		kgo.RetryBackoffFn(retryBackoff),
	}, cfg.Options...)
	client, err := kgo.NewClient(append(opts,
		kgo.SeedBrokers(brokers...),
		kgo.DisableClientMetrics(),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordDeliveryTimeout(max(cfg.PublishTimeout*3/4, time.Second)),
		// Without it a record that was under way when its broker died waits for ever. The
		// client's own repeats stay idempotent; after an error the caller's may be duplicates,
		// with the same id.
		kgo.AllowIdempotentProduceCancellation(),
		kgo.UnknownTopicRetries(-1),
	)...)
	if err != nil {
		return nil, outbox.ConfigError("Options", len(cfg.Options), err.Error())
	}
	if off, _ := client.OptValue(kgo.DisableIdempotentWrite).(bool); off {
		client.Close()
		return nil, outbox.ConfigError("Options", "kgo.DisableIdempotentWrite", "would repeat and reorder messages")
	}
	return &Publisher{cfg: cfg, client: client}, nil
}

// Publish implements message.Publisher. It returns when every message was written
// or has failed, after PublishTimeout at the latest; after an error some may have been
// written, and later ones without earlier ones. The end of a message's context ends the
// wait for it, and the message may be written all the same. Payloads must not be changed
// after an error. Errors wrap ErrPublisherClosed, ErrInvalidMessage, that of the context,
// context.DeadlineExceeded after PublishTimeout, or the client's or the broker's.
func (p *Publisher) Publish(topic string, messages ...*message.Message) error {
	p.mu.RLock()
	if p.closed {
		p.mu.RUnlock()
		return ErrPublisherClosed
	}
	p.sending.Add(1)
	p.mu.RUnlock()
	defer p.sending.Done()
	records := make([]*kgo.Record, len(messages))
	for i, msg := range messages {
		r, err := p.record(topic, msg)
		if err != nil {
			return err
		}
		records[i] = r
	}
	limit, cancel := context.WithTimeout(context.Background(), p.cfg.PublishTimeout)
	defer cancel()
	answers := make([]chan error, len(messages))
	for i, r := range records {
		answers[i] = p.produce(messages[i].Context(), r)
	}
	var failed []error
	for i, msg := range messages {
		if err := answer(msg.Context(), limit, answers[i]); err != nil {
			failed = append(failed, fmt.Errorf("leat: publish message %.200q to %.200q: %w", msg.UUID, topic, needsTopic(err, "WRITE", topic)))
		}
	}
	return errors.Join(failed...)
}

// produce hands r to the client. The client fails a record whose context has ended
// together with all that it holds of the partition, so it is not told of that end.
func (p *Publisher) produce(ctx context.Context, r *kgo.Record) chan error {
	answered := make(chan error, 1)
	if err := ctx.Err(); err != nil {
		answered <- err
		return answered
	}
	p.client.Produce(context.WithoutCancel(ctx), r, func(_ *kgo.Record, err error) { answered <- err })
	return answered
}

// answer waits for the answer to a message, until its context or limit ends.
func answer(ctx, limit context.Context, answered <-chan error) error {
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		return fmt.Errorf("not answered, may have been written: %w", ctx.Err())
	case <-limit.Done():
		return fmt.Errorf("not answered, may have been written: %w", limit.Err())
	}
}

// Close waits for what is being published, for PublishTimeout at most, and closes all
// connections. It always
// returns nil; more calls do nothing.
func (p *Publisher) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.sending.Wait()
	p.client.Close()
	return nil
}

// record returns msg as a record: metadata becomes headers, sorted by name, less
// those that leat sets itself, which may have been copied from another message.
func (p *Publisher) record(topic string, msg *message.Message) (*kgo.Record, error) {
	if msg == nil {
		return nil, fmt.Errorf("%w: the Watermill message is nil", ErrInvalidMessage)
	}
	if msg.UUID == "" {
		return nil, fmt.Errorf("%w: the Watermill message has no UUID", ErrInvalidMessage)
	}
	key, err := p.cfg.Key(topic, msg)
	if err != nil {
		return nil, fmt.Errorf("leat: key of message %.200q: %w", msg.UUID, err)
	}
	r := &kgo.Record{Topic: topic, Value: msg.Payload}
	if key != "" {
		r.Key = []byte(key)
	}
	for _, name := range slices.Sorted(maps.Keys(msg.Metadata)) {
		switch name {
		case outbox.HeaderKey, outbox.HeaderEventID, outbox.HeaderNotBefore, outbox.HeaderWatermillUUID:
		default:
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(msg.Metadata[name])})
		}
	}
	r.Headers = append(r.Headers,
		kgo.RecordHeader{Key: outbox.HeaderEventID, Value: []byte(msg.UUID)},
		kgo.RecordHeader{Key: outbox.HeaderWatermillUUID, Value: []byte(msg.UUID)},
	)
	return r, nil
}
