package kafkasink_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// severer cuts connections behind a request to end a transaction: some of the
// requests reach the broker and only their answers are lost, others may not have
// reached it.
type severer struct {
	every int64 // which of the requests
	n     atomic.Int64
	cut   atomic.Int64 // how many answers were lost
}

// opts makes a client dial through the severer. It tells of a lost answer at once
// instead of asking again by itself.
func (s *severer) opts() []kgo.Opt {
	var dialer net.Dialer
	return []kgo.Opt{kgo.RequestRetries(0), kgo.Dialer(func(ctx context.Context, network, host string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, host)
		return &severableConn{Conn: conn, severer: s}, err
	})}
}

type severableConn struct {
	net.Conn

	severer *severer
	mu      sync.Mutex
	doomed  bool
}

// Write passes a request on. The client writes each in one call.
func (c *severableConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil || len(b) < 6 || int16(binary.BigEndian.Uint16(b[4:])) != int16(kmsg.EndTxn) {
		return n, err
	}
	if no := c.severer.n.Add(1); no%c.severer.every == 0 {
		c.mu.Lock()
		c.doomed = true
		c.mu.Unlock()
		if no%(2*c.severer.every) == 0 {
			_ = c.Close() // the request may be lost as well
		}
	}
	return n, nil
}

// Read waits for the broker's answer, and loses it.
func (c *severableConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.doomed {
		c.severer.cut.Add(1)
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}
