package testenv_test

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// dialRabbit connects and opens a channel.
func dialRabbit(t *testing.T, url string) (*amqp.Connection, *amqp.Channel) {
	t.Helper()
	conn, err := amqp.Dial(url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	channel, err := conn.Channel()
	require.NoError(t, err)
	return conn, channel
}

func TestRabbit_VHostOfTheTestIsDeleted(t *testing.T) {
	t.Parallel()
	var theirs string
	t.Run("owner", func(t *testing.T) {
		env := testenv.Rabbit(t)
		theirs = env.URL
		_, channel := dialRabbit(t, env.URL)
		_, err := channel.QueueDeclare("q", true, false, false, false, nil)
		require.NoError(t, err)
	})
	_, err := amqp.Dial(theirs)
	require.Error(t, err)
	other := testenv.Rabbit(t)
	_, channel := dialRabbit(t, other.URL)
	_, err = channel.QueueDeclarePassive("q", true, false, false, false, nil)
	require.ErrorContains(t, err, "NOT_FOUND", "virtual hosts are apart")
}

//leat:level 4
func TestPrivateRabbit_KilledAndStarved(t *testing.T) {
	t.Parallel()
	server := testenv.PrivateRabbit(t, "")
	conn, channel := dialRabbit(t, server.URL)
	_, err := channel.QueueDeclare("q", true, false, false, false, nil)
	require.NoError(t, err)
	closed := conn.NotifyClose(make(chan *amqp.Error, 1))
	server.Kill()
	require.NotNil(t, <-closed)
	server.Start()

	conn, channel = dialRabbit(t, server.URL)
	// RabbitMQ writes to disk a moment later that a queue was declared, so this one may be gone.
	_, err = channel.QueueDeclare("q", true, false, false, false, nil)
	require.NoError(t, err)
	blocked := conn.NotifyBlocked(make(chan amqp.Blocking, 2))
	server.Starve()
	require.NoError(t, channel.Publish("", "q", false, false, amqp.Publishing{Body: []byte("x")}))
	require.True(t, (<-blocked).Active)
	server.Feed()
	require.False(t, (<-blocked).Active)
}
