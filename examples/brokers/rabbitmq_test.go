package brokers_test

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	amqp091 "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/examples/brokers"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/wmsink"
)

// TestRabbitMQ_ThereAndBack: what is committed arrives at a subscriber, with headers of types that RabbitMQ
// has added.
//
//leat:level 1
func TestRabbitMQ_ThereAndBack(t *testing.T) {
	t.Parallel()
	uri := testenv.Rabbit(t).URL
	conn, err := amqp091.Dial(uri)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	channel, err := conn.Channel()
	require.NoError(t, err)
	require.NoError(t, channel.ExchangeDeclare("events", amqp091.ExchangeTopic, true, false, false, false, nil))
	for name, args := range map[string]amqp091.Table{
		"late":      nil,
		"impatient": {"x-message-ttl": 0, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "late"},
	} {
		_, err = channel.QueueDeclare(name, true, false, false, false, args)
		require.NoError(t, err)
	}
	require.NoError(t, channel.QueueBind("impatient", "orders", "events", false, nil))

	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tx, err := ob.Begin(ctx)
	require.NoError(t, err)
	require.NoError(t, ob.Enqueue(ctx, tx, outbox.Message{ID: "1", Topic: "orders", Key: "k", Payload: []byte("body")}))
	require.NoError(t, tx.Commit(ctx))
	relayed := make(chan error, 1)
	go func() { relayed <- brokers.RabbitMQ(ctx, ob.Source(memoutbox.SourceConfig{}), uri) }()

	sub, err := brokers.FromRabbitMQ(uri, watermill.NopLogger{})
	require.NoError(t, err)
	messages, err := sub.Subscribe(ctx, "late")
	require.NoError(t, err)
	msg := <-messages
	require.NotNil(t, msg)
	require.Equal(t, "1", msg.UUID)
	require.Equal(t, "body", string(msg.Payload))
	require.Contains(t, msg.Metadata.Get("x-death"), `"reason":"expired"`)
	msg.Ack()
	require.NoError(t, sub.Close())
	cancel()
	require.NoError(t, <-relayed)
}

// TestRealAMQP: the sink sees in watermill-amqp's own publisher that it loses, and an outage in what it says.
//
//leat:level 1
func TestRealAMQP(t *testing.T) {
	t.Parallel()
	uri := testenv.Rabbit(t).URL
	config := amqp.NewDurableQueueConfig(uri)
	lossy, err := amqp.NewPublisher(config, watermill.NopLogger{})
	require.NoError(t, err)
	_, err = wmsink.New(lossy, wmsink.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "ConfirmDelivery")
	require.NoError(t, lossy.Close())

	config.Publish.ConfirmDelivery = true
	config.Publish.ChannelPoolSize = 16
	pub, err := amqp.NewPublisher(config, watermill.NopLogger{})
	require.NoError(t, err)
	sink, err := wmsink.New(pub, wmsink.Config{})
	require.NoError(t, err)
	record := []outbox.Record{{Seq: 1, Message: outbox.Message{ID: "1", Topic: "t", Key: "k"}}}
	require.NoError(t, sink.Send(t.Context(), record)[0].Err)
	require.NoError(t, pub.Close())
	err = sink.Send(t.Context(), record)[0].Err
	require.ErrorContains(t, err, "pub/sub is connection closed")
	require.Equal(t, outbox.FailureOutage, outbox.KindOf(err))
}
