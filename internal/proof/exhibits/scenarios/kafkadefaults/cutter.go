package kafkadefaults

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync/atomic"
)

// cutter dials connections to brokers. Once, it breaks a connection that gets the answer to a Produce
// request, before the client sees the answer.
type cutter struct{ done atomic.Bool }

// Dial implements the interface of sarama's proxies.
func (c *cutter) Dial(network, address string) (net.Conn, error) {
	return c.dial(context.Background(), network, address)
}

func (c *cutter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: conn, cutter: c}, nil
}

// cutConn passes on answers one by one. Each answer begins with its length in four bytes, followed by the
// number of its request in four bytes.
type cutConn struct {
	net.Conn
	cutter  *cutter
	produce atomic.Int64 // number of the Produce request, plus one
	rest    []byte       // unread part of the current answer
}

var errCut = errors.New("connection cut")

// Write notes the number of a Produce request. A request begins with its length in four bytes, the kind of
// request in two, 0 for Produce, its version in two, and its number in four.
func (c *cutConn) Write(b []byte) (int, error) {
	if len(b) >= 12 && binary.BigEndian.Uint16(b[4:]) == 0 {
		c.produce.Store(int64(binary.BigEndian.Uint32(b[8:])) + 1)
	}
	return c.Conn.Write(b)
}

// Read cuts the connection instead of returning the answer to the Produce request.
func (c *cutConn) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		head := make([]byte, 8)
		if _, err := io.ReadFull(c.Conn, head); err != nil {
			return 0, err
		}
		answers := int64(binary.BigEndian.Uint32(head[4:])) + 1
		if answers == c.produce.Load() && c.cutter.done.CompareAndSwap(false, true) {
			return 0, errors.Join(errCut, c.Close())
		}
		rest := make([]byte, 4+binary.BigEndian.Uint32(head))
		if _, err := io.ReadFull(c.Conn, rest[copy(rest, head):]); err != nil {
			return 0, err
		}
		c.rest = rest
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}
