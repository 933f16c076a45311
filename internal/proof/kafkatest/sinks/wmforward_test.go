package sinks_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	wmsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/wmforward"
)

// byCustomer is the function with which a service chooses its partitions.
func byCustomer(_ string, msg *message.Message) (string, error) {
	return msg.Metadata.Get("customer"), nil
}

// odd returns messages for which the outputs could differ.
func odd() []*message.Message {
	var msgs []*message.Message
	for i, p := range [][]byte{[]byte("text"), {0, 0xff, '"'}, {}, nil, []byte("ü")} {
		msg := message.NewMessage(fmt.Sprintf("id/%d", i), p)
		msg.Metadata.Set("customer", fmt.Sprint("c", i))
		msg.Metadata.Set("empty", "")
		msg.Metadata.Set("ünï", "çødé\n")
		msg.Metadata.Set("event-id", "of another message")
		msgs = append(msgs, msg)
	}
	return msgs
}

// TestO4_SameOutput uses a server of its own: a forwarder stalls while any transaction of its cluster is
// running.
func TestO4_SameOutput(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off"}})
	for name, test := range map[string]func(t *testing.T, db *testenv.Database){
		"no keys": func(t *testing.T, db *testenv.Database) {
			t.Helper()
			sameOutput(t, db, kafka.DefaultMarshaler{}, nil, 1)
		},
		"keys": func(t *testing.T, db *testenv.Database) {
			t.Helper()
			sameOutput(t, db, kafka.NewWithPartitioningMarshaler(byCustomer), byCustomer, 5)
		},
	} {
		db := server.Database(t)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, db)
		})
	}
}

// sameOutput compares, byte for byte, what the relay and the forwarder have written to Kafka: partition,
// key, value and headers. The order of the headers is not compared, since the forwarder has none.
func sameOutput(t *testing.T, db *testenv.Database, marshaler kafka.Marshaler, key outbox.KeyFunc, partitions int) {
	t.Helper()
	initialize(t, db)
	env := testenv.Kafka(t)
	topic := env.Topic(t, "same", partitions)
	require.NoError(t, pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error { return publish(tx, topic, odd()...) }))

	src, err := wmforward.New(db.Pool, wmforward.Config{KeyFunc: key, Shadow: true})
	require.NoError(t, err)
	require.NoError(t, src.Migrate(t.Context()))
	sink, err := kafkasink.New(env.Brokers, kafkasink.Config{
		Format: kafkasink.FormatWatermill,
	})
	require.NoError(t, err)
	defer sink.Close()
	r, err := relay.New(src, sink, relay.Config{})
	require.NoError(t, err)
	_, err = r.RunOnce(t.Context())
	require.NoError(t, err)
	ours := read(t, env.Brokers, topic, len(odd()))

	pub, err := kafka.NewPublisher(kafka.PublisherConfig{Brokers: env.Brokers, Marshaler: marshaler}, nil)
	require.NoError(t, err)
	defer pub.Close()
	defer startForwarder(t, db, pub)()
	var theirs []*kgo.Record
	for _, record := range read(t, env.Brokers, topic, 2*len(odd())) {
		if !slices.ContainsFunc(ours, func(o *kgo.Record) bool { return o.Partition == record.Partition && o.Offset == record.Offset }) {
			theirs = append(theirs, record)
		}
	}
	require.Equal(t, output(theirs), output(ours))
}

// output returns what consumers see of records, sorted.
func output(records []*kgo.Record) []string {
	var all []string
	for _, r := range records {
		headers := slices.SortedFunc(slices.Values(r.Headers), func(a, b kgo.RecordHeader) int { return cmp.Compare(a.Key, b.Key) })
		all = append(all, fmt.Sprintf("%q partition %d key %#v value %#v", headers, r.Partition, r.Key, r.Value))
	}
	slices.Sort(all)
	return all
}

// read returns n records of topic.
func read(t *testing.T, brokers []string, topic string, n int) []*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topic),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))
	require.NoError(t, err)
	defer client.Close()
	var got []*kgo.Record
	for len(got) < n {
		fetches := client.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		got = append(got, fetches.Records()...)
	}
	return got
}

// initialize creates the tables that a forwarder's subscriber creates, and its zero position.
func initialize(tb testing.TB, db *testenv.Database) {
	tb.Helper()
	sub := subscriber(tb, db)
	require.NoError(tb, sub.SubscribeInitialize("forwarder_topic")) // Watermill's default
}

// subscriber returns the subscriber that a forwarder reads with.
func subscriber(tb testing.TB, db *testenv.Database) *wmsql.Subscriber {
	tb.Helper()
	sub, err := wmsql.NewSubscriber(wmsql.BeginnerFromPgx(db.Pool), wmsql.SubscriberConfig{
		SchemaAdapter:    wmsql.DefaultPostgreSQLSchema{},
		OffsetsAdapter:   wmsql.DefaultPostgreSQLOffsetsAdapter{},
		InitializeSchema: true,
	}, watermill.NopLogger{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, sub.Close()) })
	return sub
}

// publish publishes in a transaction, as a producer of the forwarder does.
func publish(tx pgx.Tx, topic string, msgs ...*message.Message) error {
	pub, err := wmsql.NewPublisher(wmsql.TxFromPgx(tx), wmsql.PublisherConfig{
		SchemaAdapter: wmsql.DefaultPostgreSQLSchema{},
	}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	return forwarder.NewPublisher(pub, forwarder.PublisherConfig{}).Publish(topic, msgs...)
}

// startForwarder runs Watermill's forwarder. The returned function stops it.
func startForwarder(tb testing.TB, db *testenv.Database, to message.Publisher) (stop func()) {
	tb.Helper()
	sub, err := wmsql.NewSubscriber(wmsql.BeginnerFromPgx(db.Pool), wmsql.SubscriberConfig{
		SchemaAdapter:  wmsql.DefaultPostgreSQLSchema{SubscribeBatchSize: 100},
		OffsetsAdapter: wmsql.DefaultPostgreSQLOffsetsAdapter{},
		PollInterval:   10 * time.Millisecond,
		ResendInterval: 10 * time.Millisecond,
		RetryInterval:  10 * time.Millisecond,
	}, watermill.NopLogger{})
	require.NoError(tb, err)
	f, err := forwarder.NewForwarder(sub, to, watermill.NopLogger{}, forwarder.Config{CloseTimeout: 10 * time.Second})
	require.NoError(tb, err)
	done := make(chan error, 1)
	go func() { done <- f.Run(context.Background()) }()
	select {
	case <-f.Running():
	case err := <-done:
		require.NoError(tb, err)
	}
	return func() {
		require.NoError(tb, f.Close())
		require.NoError(tb, <-done)
		require.NoError(tb, sub.Close())
	}
}
