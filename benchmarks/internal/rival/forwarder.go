package rival

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/outbox"
)

// keyMetadata is the metadata in which the forwarder's messages carry their key.
const keyMetadata = "partition_key"

// forwarderTopic is the topic that names the forwarder's table. watermill-sql adds a prefix.
const (
	forwarderTopic = "forwarder"
	forwarderTable = "watermill_" + forwarderTopic
)

// ForwarderConfig is the variable part of a sweep over Watermill's forwarder.
type ForwarderConfig struct {
	// BatchSize is the number of rows that the subscriber reads at once.
	BatchSize int
	// PayloadType is the type of the payload column, JSON or BYTEA.
	PayloadType string
	// Queue uses watermill-sql's queue schema, which deletes forwarded messages, instead of the default
	// schema, which keeps an offset for each consumer group.
	Queue bool
}

// BestForwarder is the configuration that BenchmarkForwarderSweep found fastest.
func BestForwarder() ForwarderConfig {
	return ForwarderConfig{BatchSize: 1000, PayloadType: "BYTEA"}
}

// BestForwarderQueue is BestForwarder with the queue schema. In the sweep, the two schemas differ by less
// than the noise.
func BestForwarderQueue() ForwarderConfig {
	cfg := BestForwarder()
	cfg.Queue = true
	return cfg
}

// Forwarder is Watermill's forwarder from watermill-sql to watermill-kafka. It
// reads, unwraps and publishes one message after the other, each acknowledged by
// Kafka before the next.
type Forwarder struct {
	pool    *pgxpool.Pool
	brokers []string
	schema  wsql.SchemaAdapter
	offsets wsql.OffsetsAdapter
}

// NewForwarder returns a forwarder that is not connected yet.
func NewForwarder(pool *pgxpool.Pool, brokers []string, cfg ForwarderConfig) *Forwarder {
	payload := func(string) string { return cfg.PayloadType }
	f := &Forwarder{pool: pool, brokers: brokers}
	if cfg.Queue {
		f.schema = wsql.PostgreSQLQueueSchema{GeneratePayloadType: payload, SubscribeBatchSize: cfg.BatchSize}
		f.offsets = wsql.PostgreSQLQueueOffsetsAdapter{DeleteOnAck: true}
	} else {
		f.schema = wsql.DefaultPostgreSQLSchema{GeneratePayloadType: payload, SubscribeBatchSize: cfg.BatchSize}
		f.offsets = wsql.DefaultPostgreSQLOffsetsAdapter{}
	}
	return f
}

// Fill creates the forwarder's table and publishes messages into it, a thousand
// a transaction.
func (f *Forwarder) Fill(ctx context.Context, messages []outbox.Message) error {
	if err := f.initialize(); err != nil {
		return err
	}
	for at := 0; at < len(messages); at += fillChunk {
		part := messages[at:min(at+fillChunk, len(messages))]
		err := pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error { return f.publish(tx, part) })
		if err != nil {
			return fmt.Errorf("rival: fill the forwarder: %w", err)
		}
	}
	return nil
}

// Refill is Fill for a table that may still have rows: the queue schema keeps the rows of a batch that the
// forwarder had not settled when it ended.
func (f *Forwarder) Refill(ctx context.Context, messages []outbox.Message) error {
	if err := f.initialize(); err != nil {
		return err
	}
	if _, err := f.pool.Exec(ctx, "TRUNCATE "+forwarderTable); err != nil {
		return fmt.Errorf("rival: empty the forwarder: %w", err)
	}
	if err := f.Fill(ctx, messages); err != nil {
		return err
	}
	if _, err := f.pool.Exec(ctx, "VACUUM ANALYZE "+forwarderTable); err != nil {
		return fmt.Errorf("rival: vacuum the forwarder: %w", err)
	}
	return nil
}

func (f *Forwarder) initialize() error {
	sub, err := f.subscriber("")
	if err != nil {
		return err
	}
	if err := sub.SubscribeInitialize(forwarderTopic); err != nil {
		return fmt.Errorf("rival: forwarder schema: %w", err)
	}
	return nil
}

func (f *Forwarder) publish(tx pgx.Tx, messages []outbox.Message) error {
	raw, err := wsql.NewPublisher(wsql.TxFromPgx(tx), wsql.PublisherConfig{SchemaAdapter: f.schema}, nil)
	if err != nil {
		return err
	}
	pub := forwarder.NewPublisher(raw, forwarder.PublisherConfig{ForwarderTopic: forwarderTopic})
	out := make([]*message.Message, len(messages))
	for i := range messages {
		out[i] = watermillMessage(&messages[i])
	}
	return pub.Publish(messages[0].Topic, out...)
}

func (f *Forwarder) subscriber(group string) (*wsql.Subscriber, error) {
	sub, err := wsql.NewSubscriber(wsql.BeginnerFromPgx(f.pool), wsql.SubscriberConfig{
		ConsumerGroup:  group,
		PollInterval:   10 * time.Millisecond, // with a backlog the forwarder never waits for this
		SchemaAdapter:  f.schema,
		OffsetsAdapter: f.offsets,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("rival: forwarder subscriber: %w", err)
	}
	return sub, nil
}

// Drain forwards count messages as a consumer group that starts at the oldest message. With the queue
// schema group is "", since that has no groups. It returns how long that took, from the first read to the
// last acknowledgement.
func (f *Forwarder) Drain(ctx context.Context, group string, count int) (took time.Duration, err error) {
	var seen atomic.Int64
	done := make(chan struct{})
	fwd, pub, err := f.open(group, func(*message.Message) {
		if seen.Add(1) == int64(count) {
			close(done)
		}
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, pub.Close()) }()
	return runUntil(ctx, fwd, done)
}

// open returns a forwarder that calls forwarded for each message that Kafka has
// acknowledged, and its publisher, which the caller must close.
func (f *Forwarder) open(
	group string, forwarded func(msg *message.Message),
) (*forwarder.Forwarder, *kafka.Publisher, error) {
	sub, err := f.subscriber(group)
	if err != nil {
		return nil, nil, err
	}
	pub, err := newKafkaPublisher(f.brokers)
	if err != nil {
		return nil, nil, err
	}
	telling := &tellingPublisher{Publisher: pub, forwarded: forwarded}
	fwd, err := forwarder.NewForwarder(sub, telling, watermill.NopLogger{}, forwarder.Config{ForwarderTopic: forwarderTopic})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("rival: forwarder: %w", err), pub.Close())
	}
	return fwd, pub, nil
}

// runUntil runs fwd until done is closed and returns how long that took.
func runUntil(ctx context.Context, fwd *forwarder.Forwarder, done <-chan struct{}) (took time.Duration, err error) {
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- fwd.Run(ctx) }()
	select {
	case <-done:
		took = time.Since(began)
		err = fwd.Close()
		return took, errors.Join(err, <-ended)
	case err := <-ended:
		return 0, fmt.Errorf("rival: forwarder ended early: %w", err)
	case <-ctx.Done():
		return 0, errors.Join(ctx.Err(), fwd.Close(), <-ended)
	}
}

// tellingPublisher is a publisher that reports each message that it has published.
type tellingPublisher struct {
	message.Publisher

	forwarded func(msg *message.Message)
}

// Publish publishes and reports.
func (p *tellingPublisher) Publish(topic string, messages ...*message.Message) error {
	if err := p.Publisher.Publish(topic, messages...); err != nil {
		return err
	}
	for _, msg := range messages {
		p.forwarded(msg)
	}
	return nil
}
