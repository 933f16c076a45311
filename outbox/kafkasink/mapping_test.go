package kafkasink_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

func TestO4_RecordCarriesEveryField(t *testing.T) {
	t.Parallel()
	brokers(t, func(t *testing.T, env *testenv.KafkaEnv) {
		topic := env.Topic(t, "mapping", 1)
		occurred := time.Date(2024, 2, 29, 23, 59, 59, 123456000, time.FixedZone("", 3600))
		stored := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
		sent := []outbox.Record{
			{
				Seq: 1, CreatedAt: stored,
				Message: outbox.Message{
					ID: "order/1", Topic: topic, Key: "customer-1", Type: "OrderPlaced",
					Payload: []byte("\x00body"), OccurredAt: occurred,
					Headers: map[string]string{"traceparent": "00-1", "b": "", "a": "ü"},
				},
			},
			{Seq: 2, CreatedAt: stored, Message: outbox.Message{ID: "2", Topic: topic}},
			{
				Seq: 3, CreatedAt: stored,
				Message: outbox.Message{ID: "3", Topic: topic, OccurredAt: time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)},
			},
		}
		s := newSink(t, env.Brokers, kafkasink.Config{})
		for range 2 { // every copy is the same, though the sink uses its memory again
			requireDelivered(t, s.Send(within(t, patience), sent))
		}

		log := read(t, env.Brokers, topic)
		require.Len(t, log, 6)
		for _, copied := range [][]*kgo.Record{log[:3], log[3:]} {
			full, bare, old := copied[0], copied[1], copied[2]
			require.Equal(t, []byte("customer-1"), full.Key)
			require.Equal(t, []byte("\x00body"), full.Value)
			require.True(t, occurred.Truncate(time.Millisecond).Equal(full.Timestamp), full.Timestamp)
			require.Equal(t, []kgo.RecordHeader{
				{Key: "a", Value: []byte("ü")},
				{Key: "b", Value: []byte{}},
				{Key: "traceparent", Value: []byte("00-1")},
				{Key: "event-id", Value: []byte("order/1")},
				{Key: "event-time", Value: []byte("2024-02-29T22:59:59.123456Z")},
				{Key: "event-type", Value: []byte("OrderPlaced")},
				{Key: "_watermill_message_uuid", Value: []byte("order/1")},
			}, full.Headers)

			require.Nil(t, bare.Key)
			require.NotNil(t, bare.Value, "an empty payload is not a tombstone")
			require.Empty(t, bare.Value)
			require.True(t, stored.Equal(bare.Timestamp), bare.Timestamp)
			require.Equal(t, []kgo.RecordHeader{
				{Key: "event-id", Value: []byte("2")},
				{Key: "event-time", Value: []byte("2025-01-02T03:04:05Z")},
				{Key: "_watermill_message_uuid", Value: []byte("2")},
			}, bare.Headers)

			require.True(t, stored.Equal(old.Timestamp), "Kafka knows no time before 1970")
			require.Equal(t, "1900-01-01T00:00:00Z", string(old.Headers[1].Value))
		}
	})
}

func TestSend_ConfigOptionsReachTheClient(t *testing.T) {
	t.Parallel()
	brokers(t, func(t *testing.T, env *testenv.KafkaEnv) {
		topic := env.Topic(t, "compressed", 1)
		s := newSink(t, env.Brokers, kafkasink.Config{
			Compression: kgo.SnappyCompression(),
			Options:     []kgo.Opt{kgo.ClientID("orders"), kgo.RequiredAcks(kgo.NoAck())},
		})
		require.Equal(t, "orders", kafkasink.Client(s).OptValue(kgo.ClientID))
		require.Equal(t, kgo.AllISRAcks(), kafkasink.Client(s).OptValue(kgo.RequiredAcks))
		requireDelivered(t, s.Send(within(t, patience), records(topic, 100, 3, 500)))
		for _, r := range read(t, env.Brokers, topic) {
			require.Equal(t, uint8(kgo.CodecSnappy), r.Attrs.CompressionType())
		}
	})
}
