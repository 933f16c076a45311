package roles

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// connections are the open connections of the process to its database. They can be cut all at once in the
// middle of their work.
type connections struct {
	mu   sync.Mutex
	live map[net.Conn]struct{}
}

func newConnections() *connections { return &connections{live: map[net.Conn]struct{}{}} }

// connection is a live connection.
type connection struct {
	net.Conn

	all *connections
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.all.mu.Lock()
	delete(c.all.live, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// dial opens a connection. It is a Dial and a pgconn.DialFunc.
func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("dial the database: %w", err)
	}
	one := &connection{Conn: conn, all: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live[one] = struct{}{}
	return one, nil
}

// cut closes all connections.
func (c *connections) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.live {
		_ = conn.(*connection).Conn.Close() //nolint:forcetypeassert // dial puts nothing else in
		delete(c.live, conn)
	}
}
