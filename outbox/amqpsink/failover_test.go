package amqpsink_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/amqpsink"
)

// silent returns the URL of a listener that accepts and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return "amqp://" + listener.Addr().String() + "/"
}

// TestO8_SilentBrokerIsPassedOver: a broker that never says a word takes its share of the time, and the others
// have theirs.
func TestO8_SilentBrokerIsPassedOver(t *testing.T) {
	t.Parallel()
	env := testenv.Rabbit(t)
	declareQueue(t, connect(t, env.URL), "q", nil)
	s, err := amqpsink.New([]string{silent(t), env.URL}, amqpsink.Config{Queues: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.Equal(t, map[string]int{"ok": 10}, kinds(s.Send(within(t, 6*time.Second), records("q", 10, 2))))
}
