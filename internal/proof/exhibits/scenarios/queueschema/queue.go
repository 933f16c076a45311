package queueschema

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
)

// Batch sizes: the default of SubscribeBatchSize, and the one that its comment calls the safest value.
const (
	defaultBatch = 0
	safestBatch  = 1
)

// pollInterval is shorter than the default of a second, so that the audience does not wait.
const pollInterval = 20 * time.Millisecond

// key is the key of all messages.
const key = "order-1"

// The messages of the batch that have a special role, and the marker, which is sent after the batch: when
// it has arrived, everything that will arrive has arrived.
const (
	first  = "m1"
	second = "m2"
	marker = "m6"
)

// batch returns the ids of the messages that are published at once.
func batch() []string { return []string{first, second, "m3", "m4", "m5"} }

// committed returns all messages, in the order of their commits.
func committed() []exhibit.Event {
	var events []exhibit.Event
	for _, id := range append(batch(), marker) {
		events = append(events, exhibit.Event{ID: id, Key: key})
	}
	return events
}

// queue is one topic of the queue schema.
type queue struct {
	bed   *testbed.Testbed
	topic string
	size  int // SubscribeBatchSize
}

func (q queue) schema() sql.PostgreSQLQueueSchema {
	return sql.PostgreSQLQueueSchema{SubscribeBatchSize: q.size}
}

// publish commits messages in one transaction.
func (q queue) publish(ids ...string) error {
	pub, err := sql.NewPublisher(sql.BeginnerFromPgx(q.bed.Pool), sql.PublisherConfig{
		SchemaAdapter: q.schema(), AutoInitializeSchema: true,
	}, nil)
	if err != nil {
		return err
	}
	msgs := make([]*message.Message, len(ids))
	for i, id := range ids {
		msgs[i] = message.NewMessage(id, []byte(`{}`))
	}
	return pub.Publish(q.topic, msgs...)
}

// subscriber returns a subscriber with the defaults, except for the intervals, which are shorter so that
// the audience does not wait, and the deadline, which is 30 s by default.
func (q queue) subscriber(deadline time.Duration) (*sql.Subscriber, error) {
	return sql.NewSubscriber(sql.BeginnerFromPgx(q.bed.Pool), sql.SubscriberConfig{
		SchemaAdapter:    q.schema(),
		OffsetsAdapter:   sql.PostgreSQLQueueOffsetsAdapter{},
		AckDeadline:      &deadline,
		PollInterval:     pollInterval,
		ResendInterval:   pollInterval,
		InitializeSchema: true,
	}, nil)
}

// drained waits until every row counts as acknowledged.
func (q queue) drained(ctx context.Context) error {
	return testbed.Until(ctx, func(ctx context.Context) (bool, error) {
		var open int
		err := q.bed.Pool.QueryRow(ctx, `SELECT count(*) FROM "watermill_`+q.topic+`" WHERE NOT acked`).Scan(&open)
		return open == 0, err
	})
}
