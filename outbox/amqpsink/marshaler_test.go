package amqpsink_test

import (
	"math"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/amqpsink"
)

func TestMarshaler_ReadsHeadersOfEveryType(t *testing.T) {
	t.Parallel()
	channel := connect(t, testenv.Rabbit(t).URL)
	declareQueue(t, channel, "q", nil)
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	headers := amqp.Table{
		"text": "t", "bytes": []byte("b"), "yes": true, "byte": byte(1), "int8": int8(-2), "int16": int16(-3), "uint16": uint16(4),
		"int32": int32(-5), "uint32": uint32(6), "int64": int64(-7), "float32": float32(0.1), "float64": 0.1, "nil": nil, "time": at,
		"table": amqp.Table{"a": int64(1)}, "list": []any{"x", amqp.Table{"n": nil}}, "event-id": "e",
	}
	require.NoError(t, channel.Publish("", "q", false, false, amqp.Publishing{MessageId: "m", Headers: headers, Body: []byte{0}}))
	d, ok, err := channel.Get("q", true)
	require.NoError(t, err)
	require.True(t, ok)
	msg, err := amqpsink.Marshaler{}.Unmarshal(d)
	require.NoError(t, err)
	require.Equal(t, "e", msg.UUID)
	require.Equal(t, []byte{0}, []byte(msg.Payload))
	require.Equal(t, message.Metadata{
		"text": "t", "bytes": "b", "yes": "true", "byte": "1", "int8": "-2", "int16": "-3", "uint16": "4", "int32": "-5", "uint32": "6",
		"int64": "-7", "float32": "0.1", "float64": "0.1", "nil": "", "time": "2024-05-06T07:08:09Z", "table": `{"a":1}`,
		"list": `["x",{"n":null}]`, "event-id": "e",
	}, msg.Metadata)

	bare, err := amqpsink.Marshaler{}.Unmarshal(amqp.Delivery{MessageId: "m", Headers: amqp.Table{"list": []any{math.NaN()}}})
	require.NoError(t, err)
	require.Equal(t, "m", bare.UUID)
	require.Equal(t, "[NaN]", bare.Metadata.Get("list"), "no JSON")
}

// TestMarshaler_ReadsDeadLetters: RabbitMQ notes in a table what happened to a message that it has
// dead-lettered.
func TestMarshaler_ReadsDeadLetters(t *testing.T) {
	t.Parallel()
	channel := connect(t, testenv.Rabbit(t).URL)
	declareQueue(t, channel, "dead", nil)
	declareQueue(t, channel, "q", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
	msg := message.NewMessage("1", []byte("body"))
	msg.Metadata.Set("content-type", "text/plain")
	p, err := amqpsink.Marshaler{}.Marshal(msg)
	require.NoError(t, err)
	require.Equal(t, "text/plain", p.ContentType)
	require.NoError(t, channel.Publish("", "q", true, false, p))
	d, ok, err := channel.Get("q", false)
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, d.Reject(false))
	dead, err := channel.ConsumeWithContext(t.Context(), "dead", "", true, false, false, false, nil)
	require.NoError(t, err)
	got, err := amqpsink.Marshaler{}.Unmarshal(<-dead)
	require.NoError(t, err)
	require.Equal(t, "1", got.UUID)
	require.Equal(t, "text/plain", got.Metadata.Get("content-type"))
	require.Contains(t, got.Metadata.Get("x-death"), `"reason":"rejected"`)
}
