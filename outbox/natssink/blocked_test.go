package natssink_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/natssink"
)

// blocking is a connection to a server that reads no more once it is told to.
type blocking struct {
	net.Conn

	stopped *atomic.Bool
	once    sync.Once
	closed  chan struct{}
}

// Write implements net.Conn.
func (c *blocking) Write(b []byte) (int, error) {
	if c.stopped.Load() {
		<-c.closed
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// Close implements net.Conn.
func (c *blocking) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// TestO8_ServerReadsNoMore: a call ends with its context although what it writes does not go out.
func TestO8_ServerReadsNoMore(t *testing.T) {
	t.Parallel()
	b := newStreams(t, startServer(t).HostPort, "b")
	var stopped atomic.Bool
	var last atomic.Pointer[blocking]
	s := newSink(t, urlOf(b.address, "writer"), natssink.Config{
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			blocked := &blocking{Conn: conn, stopped: &stopped, closed: make(chan struct{})}
			last.Store(blocked)
			return blocked, err
		},
	})
	all := records("b.a", 200, 200)
	for i := range all {
		all[i].Payload = make([]byte, 4000)
	}
	require.NoError(t, s.Check(within(t)))
	stopped.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	ended := make(chan map[string]int, 1)
	go func() { ended <- kinds(s.Send(ctx, all)) }()
	select {
	case got := <-ended:
		require.Zero(t, got["ok"])
		require.Positive(t, got["outage"])
	case <-time.After(20 * time.Second):
		_ = last.Load().Close() // else nothing ends
		require.FailNow(t, "the call goes on without its context")
	}
	stopped.Store(false)
	require.Equal(t, map[string]int{"ok": len(all)}, kinds(s.Send(within(t), all)))
}
