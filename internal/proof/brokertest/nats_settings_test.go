package brokertest_test

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wmnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// These tests say what settings watermill-nats' package nats needs where nothing may be lost: docs/brokers.md
// tells users. The package is not run through Watermill's suite: it closes a subscription's channel while a message
// may be on its way there, as pkg/jetstream does.

const (
	settingsTopic   = "topic"
	settingsDurable = "durable"
)

// jetStream returns a server's JetStream with a stream of settingsTopic.
func jetStream(t *testing.T, url string) nats.JetStreamContext {
	t.Helper()
	conn, err := nats.Connect(url)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := conn.JetStream()
	require.NoError(t, err)
	_, err = js.AddStream(&nats.StreamConfig{Name: settingsTopic, Subjects: []string{settingsTopic}})
	require.NoError(t, err)
	return js
}

// subscribe returns the messages of settingsTopic, and a function that ends the subscription.
func subscribe(t *testing.T, url string, handlerTimeout time.Duration, options ...nats.SubOpt) (messages <-chan *message.Message, end func()) {
	t.Helper()
	s, err := wmnats.NewSubscriber(wmnats.SubscriberConfig{
		URL: url, QueueGroupPrefix: "group", AckWaitTimeout: handlerTimeout,
		JetStream: wmnats.JetStreamConfig{DurablePrefix: settingsDurable, SubscribeOptions: options},
	}, watermill.NopLogger{})
	require.NoError(t, err)
	messages, err = s.Subscribe(t.Context(), settingsTopic)
	require.NoError(t, err)
	return messages, func() { require.NoError(t, s.Close()) }
}

func publish(t *testing.T, js nats.JetStreamContext) {
	t.Helper()
	m := nats.NewMsg(settingsTopic)
	m.Header.Set(wmnats.WatermillUUIDHdr, "one")
	_, err := js.PublishMsg(m)
	require.NoError(t, err)
}

func receive(t *testing.T, messages <-chan *message.Message) *message.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case m := <-messages:
		return m
	case <-ctx.Done():
		require.NoError(t, ctx.Err(), "no message has come")
		return nil
	}
}

// acknowledged waits until the server counts the first message as acknowledged.
func acknowledged(t *testing.T, js nats.JetStreamContext) {
	t.Helper()
	require.Eventually(t, func() bool {
		info, err := js.ConsumerInfo(settingsTopic, settingsDurable)
		return err == nil && info.AckFloor.Stream == 1 && info.NumAckPending == 0
	}, patience, 10*time.Millisecond)
}

func TestNATS_LosesWhatOutlastsAckWaitTimeoutWithoutManualAck(t *testing.T) {
	t.Parallel()
	url := natsServer(t)
	js := jetStream(t, url)
	publish(t, js)
	messages, end := subscribe(t, url, 50*time.Millisecond)
	defer end()
	receive(t, messages) // and neither ack nor nack it
	acknowledged(t, js)
}

func TestNATS_RedeliversWhatOutlastsAckWaitTimeoutWithManualAck(t *testing.T) {
	t.Parallel()
	url := natsServer(t)
	js := jetStream(t, url)
	publish(t, js)
	messages, end := subscribe(t, url, 50*time.Millisecond, nats.ManualAck(), nats.AckWait(200*time.Millisecond))
	defer end()
	receive(t, messages) // and neither ack nor nack it
	receive(t, messages).Ack()
	acknowledged(t, js)
}

func TestNATS_DeletesTheConsumerThatItHasMade(t *testing.T) {
	t.Parallel()
	url := natsServer(t)
	js := jetStream(t, url)
	_, end := subscribe(t, url, time.Minute, nats.ManualAck())
	end()
	_, err := js.ConsumerInfo(settingsTopic, settingsDurable)
	require.ErrorIs(t, err, nats.ErrConsumerNotFound)
}

func TestNATS_KeepsTheConsumerThatWasThere(t *testing.T) {
	t.Parallel()
	url := natsServer(t)
	js := jetStream(t, url)
	_, err := js.AddConsumer(settingsTopic, &nats.ConsumerConfig{
		Durable: settingsDurable, DeliverSubject: "deliver", DeliverGroup: "group", AckPolicy: nats.AckExplicitPolicy,
		AckWait: 200 * time.Millisecond, // the server may send it to the subscription that has just ended
	})
	require.NoError(t, err)
	_, end := subscribe(t, url, time.Minute, nats.ManualAck())
	end()
	publish(t, js)
	messages, end := subscribe(t, url, time.Minute, nats.ManualAck())
	defer end()
	receive(t, messages).Ack()
	acknowledged(t, js)
}
