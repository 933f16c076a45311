package bench_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// topic is the topic of all messages.
const topic = "events"

// batches are the batch sizes of the rivals; the best one counts. leat runs with its defaults.
var batches = []int{100, 1000, 5000}

// drains reads and settles a backlog, with a relay whose sink does nothing, and with watermill-sql's
// subscriber on both schemas, whose messages are acked at once.
func drains(b *testing.B, s side) {
	b.Helper()
	ob := filled(b, s, *messages)
	all := []contender{{"leat", *messages, s.drain(b, ob, nothing{}, *messages)}}
	var queues, standards []string
	for _, batch := range batches {
		name := fmt.Sprintf("queue-%d", batch)
		queues = append(queues, name)
		all = append(all, contender{name, *messages, queueOf(s, batch).drains(b, *messages, nil)})
		if few := *messages / 10; batch < few { // it is slow
			name := fmt.Sprintf("default-%d", batch)
			standards = append(standards, name)
			all = append(all, contender{name, few, defaultOf(s, batch).drains(b, few, nil)})
		}
	}
	f := turns(b, all...)
	s.aims.judge(b, f, 1.5, "leat", queues...)
	s.aims.judge(b, f, 10, "leat", standards...)
}

// toKafka does the same with a sink: both send to Kafka through leat's.
func toKafka(b *testing.B, s side) {
	b.Helper()
	kafka := testenv.Kafka(b)
	name := kafka.Topic(b, topic, 8)
	sink, err := kafkasink.New(kafka.Brokers, kafkasink.Config{})
	require.NoError(b, err)
	defer func() { require.NoError(b, sink.Close()) }()
	ob := filledWith(b, s, *messages, name)
	send := func(ctx context.Context, msg *message.Message) error {
		m := outbox.Message{ID: msg.UUID, Topic: name, Payload: msg.Payload}
		return sink.Send(ctx, []outbox.Record{{Message: m}})[0].Err
	}
	few := *messages / 20 // one at a time
	f := turns(b,
		contender{"leat", *messages, s.drain(b, ob, sink, *messages)},
		contender{"queue-1000", few, queueOf(s, 1000).drains(b, few, send)},
		contender{"default-100", few, defaultOf(s, 100).drains(b, few, send)})
	s.aims.judge(b, f, 1.5, "leat", "queue-1000")
	s.aims.judge(b, f, 10, "leat", "default-100")
}

// filled returns an outbox with a backlog.
func filled(b *testing.B, s side, n int) *sqloutbox.Outbox {
	b.Helper()
	return filledWith(b, s, n, topic)
}

func filledWith(b *testing.B, s side, n int, topic string) *sqloutbox.Outbox {
	b.Helper()
	ob := newOutbox(b, s)
	all := make([]outbox.Message, n)
	for i := range all {
		all[i] = outbox.Message{Topic: topic, Key: strconv.Itoa(i % 1000), Payload: payload()}
	}
	for part := range slices.Chunk(all, 1000) {
		require.NoError(b, ob.InTx(b.Context(), func(ctx context.Context, tx *sql.Tx) error { return ob.Enqueue(ctx, tx, part...) }))
	}
	return ob
}

// drain reads the whole backlog as a new group.
func (s side) drain(b *testing.B, ob *sqloutbox.Outbox, sink driver.Sink, n int) func(round int) (spent, error) {
	b.Helper()
	return func(round int) (spent, error) {
		return s.measure(func() error { return drain(b.Context(), ob, fmt.Sprintf("group-%d", round), sink, n) })
	}
}

func drain(ctx context.Context, ob *sqloutbox.Outbox, group string, sink driver.Sink, n int) error {
	source, err := ob.Source(sqloutbox.SourceConfig{Group: group, Start: driver.Start{Oldest: true}})
	if err != nil {
		return err
	}
	r, err := relay.New(source, sink, relay.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	acked, err := r.RunOnce(ctx)
	if err == nil && acked != n {
		err = fmt.Errorf("%d of %d were relayed", acked, n)
	}
	return err
}

// nothing is a sink that acknowledges at once.
type nothing struct{}

// Send implements driver.Sink.
func (nothing) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	return make([]outbox.Result, len(records))
}
