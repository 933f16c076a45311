package faultnet

import (
	"context"
	"net"
	"sync"
)

// Valve is between a client and its server: it loses or delays what passes through the
// connections that there are. Those that are dialled later are not concerned. The zero value is
// ready for use, by any number of goroutines.
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
	c := &valveConn{Conn: conn, gone: make(chan struct{})}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.conns = append(v.conns, c)
	return c, nil
}

// Mute withholds what the server says, until release is called: it comes then, unless the client
// has closed the connection.
func (v *Valve) Mute() (release func()) {
	all := v.open()
	heard := make(chan struct{})
	for _, c := range all {
		c.mute(heard)
	}
	return sync.OnceFunc(func() { close(heard) })
}

// Stall keeps what the client says to itself, until release is called: it comes then, unless the
// client has closed the connection, which drops it.
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

// open returns the connections that there are.
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

	reading sync.Mutex      // guards heard
	heard   <-chan struct{} // nil unless it is muted

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
			_, _ = c.Conn.Write(kept) // what the client wrote; it hears of failures when it reads
		}
	}
}

// Read implements net.Conn.
func (c *valveConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.reading.Lock()
	heard := c.heard
	c.reading.Unlock()
	if heard != nil {
		select {
		case <-heard:
		case <-c.gone:
			return 0, net.ErrClosed
		}
	}
	return n, err
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
