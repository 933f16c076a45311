package kafkasource_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// TestUnmarshal: which header is the id, and what happens to the key.
//
//leat:level 0
func TestUnmarshal(t *testing.T) {
	t.Parallel()
	header := func(name, value string) kgo.RecordHeader { return kgo.RecordHeader{Key: name, Value: []byte(value)} }
	for _, c := range []struct {
		record kgo.Record
		id     string
		want   message.Metadata
	}{
		{kgo.Record{}, "", message.Metadata{}},
		{kgo.Record{Headers: []kgo.RecordHeader{header("event-id", "e")}}, "e", message.Metadata{"event-id": "e"}},
		{
			kgo.Record{Key: []byte("k"), Headers: []kgo.RecordHeader{header("event-id", "e"), header("_watermill_message_uuid", "w"), header("a", "1"), header("a", "2")}},
			"w",
			message.Metadata{"event-id": "e", "a": "2", "leat_key": "k"},
		},
		{kgo.Record{Key: []byte("k"), Headers: []kgo.RecordHeader{header("leat_key", "forged")}}, "", message.Metadata{"leat_key": "k"}},
	} {
		msg, err := kafkasource.Unmarshal(&c.record)
		require.NoError(t, err)
		require.Equal(t, c.id, msg.UUID)
		require.Equal(t, c.want, msg.Metadata)
	}
}

// TestO4_WhatTheSinkSendsArrives: a record of the outbox becomes the same message,
// with its position.
func TestO4_WhatTheSinkSendsArrives(t *testing.T) {
	t.Parallel()
	for _, format := range []kafkasink.Format{kafkasink.FormatLeat, kafkasink.FormatWatermill} {
		env := testenv.Kafka(t)
		topic := env.Topic(t, "sink", 1)
		sink, err := kafkasink.New(env.Brokers, kafkasink.Config{Format: format})
		require.NoError(t, err)
		sent := outbox.Record{Seq: 1, Message: outbox.Message{
			ID: "order-1", Topic: topic, Key: "customer-1", Payload: []byte("paid"), Headers: map[string]string{"traceparent": "00-1"},
		}}
		require.NoError(t, sink.Send(t.Context(), []outbox.Record{sent})[0].Err)
		require.NoError(t, sink.Close())

		msg := receive(t, subscribe(t, newSubscriber(t, env.Brokers, env.Name("group"), brisk()), topic))
		require.Equal(t, sent.ID, msg.UUID)
		require.Equal(t, sent.Payload, []byte(msg.Payload))
		require.Equal(t, "customer-1", msg.Metadata[outbox.HeaderKey])
		require.Equal(t, "00-1", msg.Metadata["traceparent"])
		p, ok := driver.PositionFrom(msg.Context())
		require.True(t, ok)
		require.NoError(t, uuid.Validate(p.Source))
		require.Equal(t, driver.Position{Source: p.Source, Topic: topic, Offset: 0, Prev: -1}, p)
		r, ok := kafkasource.RecordFrom(msg.Context())
		require.True(t, ok)
		require.Equal(t, "customer-1", string(r.Key))
		msg.Ack()
	}
}
