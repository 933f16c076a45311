package wmforward_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/wmforward"
)

// byCustomer is a service's function for its partitions.
func byCustomer(_ string, msg *message.Message) (string, error) {
	return msg.Metadata.Get("customer"), nil
}

// odd are messages that an output could differ in.
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

// sameOutput compares what the two have written to Kafka, byte for byte:
// partition, key, value and headers. Only the order of the headers is not
// compared, since the forwarder has none.
func sameOutput(marshaler kafka.Marshaler, key outbox.KeyFunc, partitions int) func(t *testing.T, db *testenv.Database) {
	return func(t *testing.T, db *testenv.Database) {
		t.Helper()
		env := testenv.Kafka(t)
		topic := env.Topic(t, "same", partitions)
		w := begin(t, db)
		publish(t, w.Tx, topic, odd()...)
		w.commit()

		src := newSource(t, db, wmforward.Config{KeyFunc: key, Shadow: true})
		sink, err := kafkasink.New(env.Brokers, kafkasink.Config{
			Format: kafkasink.FormatWatermill,
		})
		require.NoError(t, err)
		defer sink.Close()
		runOnce(t, src, sink)
		ours := read(t, env.Brokers, topic, len(odd()))

		pub, err := kafka.NewPublisher(kafka.PublisherConfig{Brokers: env.Brokers, Marshaler: marshaler}, nil)
		require.NoError(t, err)
		defer pub.Close()
		startForwarder(t, db, pub, 100)
		var theirs []*kgo.Record
		for _, record := range read(t, env.Brokers, topic, 2*len(odd())) {
			if !slices.ContainsFunc(ours, func(o *kgo.Record) bool { return o.Partition == record.Partition && o.Offset == record.Offset }) {
				theirs = append(theirs, record)
			}
		}
		require.Equal(t, output(theirs), output(ours))
	}
}

// output is what consumers see of records, by id.
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
