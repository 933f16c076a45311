package kafkasink_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// TestO4_FormatWatermill: the id and the message's own headers, and nothing else.
func TestO4_FormatWatermill(t *testing.T) {
	t.Parallel()
	brokers(t, func(t *testing.T, env *testenv.KafkaEnv) {
		topic := env.Topic(t, "format", 1)
		full := record(topic, "customer-1", 1, 50)
		full.Type = "OrderPlaced"
		full.Headers = map[string]string{"b": "", "a": "ü", "event-id": "another"}
		null, empty := record(topic, "", 2, 0), record(topic, "", 3, 0)
		null.Payload, empty.Payload = nil, []byte{}
		s := newSink(t, env.Brokers, kafkasink.Config{Format: kafkasink.FormatWatermill})
		requireDelivered(t, s.Send(within(t, patience), []outbox.Record{full, null, empty}))

		log := read(t, env.Brokers, topic)
		require.Len(t, log, 3)
		require.Equal(t, []kgo.RecordHeader{
			{Key: "_watermill_message_uuid", Value: []byte("id-1")},
			{Key: "a", Value: []byte("ü")},
			{Key: "b", Value: []byte{}},
			{Key: "event-id", Value: []byte("another")},
		}, log[0].Headers)
		require.Equal(t, []byte("customer-1"), log[0].Key)
		require.Equal(t, full.Payload, log[0].Value)
		require.Nil(t, log[1].Value, "a tombstone, as Watermill sends it")
		require.NotNil(t, log[2].Value)
		require.Empty(t, log[2].Value)
	})
}

//leat:level 0
func TestFormatIsRefused(t *testing.T) {
	t.Parallel()
	_, err := kafkasink.New([]string{"127.0.0.1:1"}, kafkasink.Config{Format: 2})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "Format = 2")
}
