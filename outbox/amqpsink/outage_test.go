package amqpsink_test

import (
	"net/url"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/amqpsink"
)

// TestO8_OutageNamesTheBroker: who reads why a topic is out learns that it is the broker, and which.
func TestO8_OutageNamesTheBroker(t *testing.T) {
	t.Parallel()
	env := testenv.Rabbit(t)
	u, err := url.Parse(env.URL)
	require.NoError(t, err)
	away := newSink(t, "amqp://ann:secret@127.0.0.1:1/shop", amqpsink.Config{})
	err = away.Send(within(t, patience), records("q", 2, 2))[0].Err
	require.ErrorContains(t, err, "leat: rabbitmq at [127.0.0.1:1] does not answer: ")
	require.NotContains(t, err.Error(), "secret")

	stranger := *u
	stranger.User = url.UserPassword("stranger", "secret")
	err = newSink(t, stranger.String(), amqpsink.Config{}).Send(within(t, patience), records("q", 2, 2))[0].Err
	require.ErrorContains(t, err, "leat: rabbitmq at ["+u.Host+"] refuses: ")
	require.NotContains(t, err.Error(), "secret")

	b := newBroker(t, env.URL, amqpsink.Config{Queues: true}, func(channel *amqp.Channel, topic string) error {
		_, err := channel.QueueDeclare(topic, true, false, false, false, nil)
		return err
	})
	s, err := b.Sink()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.(*amqpsink.Sink).Close()) }()
	topic := b.Topics()[0]
	require.Equal(t, map[string]int{"ok": 2}, kinds(s.Send(within(t, patience), records(topic, 2, 2))))
	_, err = b.Mute(t.Context())
	require.NoError(t, err)
	err = s.Send(within(t, time.Second), records(topic, 2, 2))[0].Err
	require.ErrorContains(t, err, "leat: rabbitmq at ["+u.Host+"] does not answer: ")
}
