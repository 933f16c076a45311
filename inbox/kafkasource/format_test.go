package kafkasource_test

import (
	"errors"
	"strings"
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

// TestUnmarshal: which header is the id, and what becomes of the key.
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

// What the Publisher sends arrives, less what was copied from another message.
func TestPublisher_RoundTrip(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	topic := env.Topic(t, "published", 1)
	pub, err := kafkasource.NewPublisher(env.Brokers, kafkasource.PublisherConfig{})
	require.NoError(t, err)
	defer func() { require.NoError(t, pub.Close()) }()
	sent := message.NewMessage("1", []byte("x"))
	sent.Metadata = message.Metadata{"leat_key": "k", "event-id": "the parent's", "a": "1"}
	require.NoError(t, pub.Publish(topic, sent))
	msg := receive(t, subscribe(t, newSubscriber(t, env.Brokers, env.Name("group"), brisk()), topic))
	msg.Ack()
	require.Equal(t, "1", msg.UUID)
	require.Equal(t, message.Metadata{"leat_key": "k", "event-id": "1", "a": "1"}, msg.Metadata)
	require.ErrorContains(t, pub.Publish(topic, message.NewMessage("2", []byte(strings.Repeat("x", 2<<20)))), `leat: publish message "2" to "`+topic)
	bad, err := kafkasource.NewPublisher(env.Brokers, kafkasource.PublisherConfig{
		Key: func(string, *message.Message) (string, error) { return "", errors.New("no key") },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, bad.Close()) }()
	require.EqualError(t, bad.Publish(topic, sent), `leat: key of message "1": no key`)
}
