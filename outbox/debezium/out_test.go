package debezium_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

const publishLeat = `CREATE PUBLICATION leat FOR TABLE leat.outbox WITH (publish = 'insert', publish_via_partition_root = true)`

const createSlot = `SELECT pg_create_logical_replication_slot($1, 'pgoutput')`

// leatsOwnTable has the documented connector and a relay send the same messages: a consumer
// behind Spread sees no difference but those that docs/debezium.md names, and an inbox takes
// each pair for one.
func (r *realDebezium) leatsOwnTable(t *testing.T) {
	db := r.server.Database(t, migrated())
	topic := r.broker.Topic(t, "own", 8)
	exec(t, db, publishLeat)
	exec(t, db, createSlot, "leat_debezium")
	messages := []outbox.Message{
		{Topic: topic, Key: "a", Payload: []byte("{\x00}"), Type: "paid", Headers: map[string]string{"lang": "fr", "x": `"é"`}, OccurredAt: time.Unix(1e9, 123e3)},
		{Topic: topic, Key: "a", Payload: []byte{}, ID: "an id that is text"},
		{Topic: topic, Payload: []byte(" ")},
		{Topic: topic, Key: "b", Payload: []byte("b"), Headers: map[string]string{"id": "the producer's"}},
	}
	ob := enqueue(t, db, messages)
	r.start(t, "own", leatConnector(t, db))
	sent := byID(t, r.read(t, topic, len(messages)))
	r.stop(t, "own")

	source, err := ob.Source(pgoutbox.SourceConfig{})
	require.NoError(t, err)
	runOnce(t, source, r.broker.Brokers)
	all := r.read(t, topic, 2*len(messages))
	relayed := map[string]received{}
	for _, record := range all {
		if !fromDebezium(record) {
			maps.Copy(relayed, byID(t, []*kgo.Record{record}))
		}
	}
	require.Len(t, relayed, len(messages))
	for id, want := range relayed {
		got := sent[storedID(id)]
		require.NotNil(t, got, id)
		require.Equal(t, want.record.Key, got.record.Key)
		require.Equal(t, want.record.Value, got.record.Value)
		if len(want.record.Key) > 0 { // without a key any will do
			require.Equal(t, want.record.Partition, got.record.Partition)
		}
		if _, given := got.msg.Metadata[outbox.HeaderEventTime]; !given {
			delete(want.msg.Metadata, outbox.HeaderEventTime) // Debezium has none if the producer has given none
		}
		want.msg.Metadata[outbox.HeaderEventID] = storedID(id)
		require.Equal(t, want.msg.Metadata, got.msg.Metadata)
	}
	require.Equal(t, len(messages), effects(t, all), "an inbox takes what both have sent for one")
}

// received is a record, and the message that a consumer gets.
type received struct {
	record *kgo.Record
	msg    *message.Message
}

// byID unmarshals and spreads records.
func byID(t *testing.T, records []*kgo.Record) map[string]received {
	t.Helper()
	found := map[string]received{}
	for _, record := range records {
		msg, err := kafkasource.Unmarshal(record)
		require.NoError(t, err)
		require.NoError(t, middleware.SpreadDebezium(msg))
		again := msg.Copy()
		require.NoError(t, middleware.SpreadDebezium(again))
		require.True(t, msg.Equals(again), "a second Spread changes nothing")
		found[msg.UUID] = received{record, msg}
	}
	return found
}

// effects delivers records to an inbox and returns how many handlers have run.
func effects(t *testing.T, records []*kgo.Record) (n int) {
	t.Helper()
	in, err := meminbox.New("consumer", meminbox.Config{})
	require.NoError(t, err)
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	require.NoError(t, err)
	handle := middleware.Debezium(once(func(*message.Message) ([]*message.Message, error) { n++; return nil, nil }))
	for _, record := range records {
		msg, err := kafkasource.Unmarshal(record)
		require.NoError(t, err)
		_, err = handle(msg)
		require.NoError(t, err)
	}
	return n
}

func fromDebezium(record *kgo.Record) bool {
	for _, h := range record.Headers {
		if h.Key == "leat_headers" {
			return true
		}
	}
	return false
}

func enqueue(t *testing.T, db *testenv.Database, messages []outbox.Message) *pgoutbox.Outbox {
	t.Helper()
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		return ob.Enqueue(ctx, tx, messages...)
	}))
	return ob
}

// runOnce relays all that is in the outbox.
func runOnce(t *testing.T, source driver.Source, brokers []string) {
	t.Helper()
	sink, err := kafkasink.New(brokers, kafkasink.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, sink.Close()) }()
	once, err := relay.New(source, sink, relay.Config{})
	require.NoError(t, err)
	_, err = once.RunOnce(t.Context())
	require.NoError(t, err)
}

func exec(t *testing.T, db *testenv.Database, sql string, args ...any) {
	t.Helper()
	_, err := db.Pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// storedID is the id of a message as the row has it.
func storedID(id string) string {
	stored, _ := ids.Map(id)
	return ids.Text(stored)
}
