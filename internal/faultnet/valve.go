package faultnet

import (
	"context"
	"net"
	"os"
	"sync"
	"time"
)

// Valve sits between a client and its server. It loses or delays the bytes of the connections that
// are open; connections dialled later are not affected. The zero value is ready for use, by any
// number of goroutines.
type Valve struct {
	mu    sync.Mutex
	conns []*valveConn
}

// Dial dials a connection through the valve.
func (v *Valve) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &valveConn{Conn: conn, gone: make(chan struct{}), changed: make(chan struct{})}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.conns = append(v.conns, c)
	return c, nil
}

// Mute withholds what the server sends until release is called. Then it arrives, unless the client
// has closed the connection.
func (v *Valve) Mute() (release func()) {
	all := v.open()
	heard := make(chan struct{})
	for _, c := range all {
		c.mute(heard)
	}
	return sync.OnceFunc(func() { close(heard) })
}

// Stall withholds what the client sends until release is called. Then it is sent, unless the client
// has closed the connection, which drops it.
func (v *Valve) Stall() (release func()) {
	all := v.open()
	for _, c := range all {
		c.stall(true)
	}
	return sync.OnceFunc(func() {
		for _, c := range all {
			c.stall(false)
		}
	})
}

// open returns the open connections.
func (v *Valve) open() []*valveConn {
	v.mu.Lock()
	defer v.mu.Unlock()
	var open []*valveConn
	for _, c := range v.conns {
		select {
		case <-c.gone:
		default:
			open = append(open, c)
		}
	}
	v.conns = open
	return append([]*valveConn(nil), open...)
}

type valveConn struct {
	net.Conn

	once sync.Once
	gone chan struct{} // closed by Close

	reading  sync.Mutex      // guards what follows
	heard    <-chan struct{} // nil unless it is muted
	deadline time.Time
	changed  chan struct{} // closed when there is another deadline

	writing sync.Mutex // guards what follows, and is held by a Write that waits
	stalled bool
	kept    []byte
}

func (c *valveConn) mute(heard <-chan struct{}) {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.heard = heard
}

func (c *valveConn) stall(on bool) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.stalled = on
	kept := c.kept
	c.kept = nil
	select {
	case <-c.gone:
	default:
		if len(kept) > 0 {
			_, _ = c.Conn.Write(kept) // the client has written it; the client hears of failures when it reads
		}
	}
}

// Read implements net.Conn.
func (c *valveConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	for {
		c.reading.Lock()
		heard, deadline, changed := c.heard, c.deadline, c.changed
		c.reading.Unlock()
		if heard == nil {
			return n, err
		}
		var late <-chan time.Time
		if !deadline.IsZero() {
			late = time.After(time.Until(deadline))
		}
		select {
		case <-heard:
			return n, err
		case <-c.gone:
			return 0, net.ErrClosed
		case <-late:
			return 0, os.ErrDeadlineExceeded
		case <-changed:
		}
	}
}

// SetDeadline implements net.Conn.
func (c *valveConn) SetDeadline(t time.Time) error {
	c.expect(t)
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *valveConn) SetReadDeadline(t time.Time) error {
	c.expect(t)
	return c.Conn.SetReadDeadline(t)
}

// expect sets the deadline of Reads, including one that is waiting.
func (c *valveConn) expect(t time.Time) {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.deadline = t
	close(c.changed)
	c.changed = make(chan struct{})
}

// Write implements net.Conn.
func (c *valveConn) Write(b []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.stalled {
		c.kept = append(c.kept, b...)
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// Close implements net.Conn.
func (c *valveConn) Close() error {
	c.once.Do(func() { close(c.gone) })
	return c.Conn.Close()
}
