package faultnet

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync/atomic"
)

// Frail dials connections that break now and then, when an answer arrives. They hold until they are
// armed. The zero value is ready for use, by any number of goroutines.
type Frail struct{ oneIn atomic.Int64 }

// Arm makes one read in n break its connection.
func (f *Frail) Arm(oneIn int64) { f.oneIn.Store(oneIn) }

// Dial dials a connection that breaks.
func (f *Frail) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return frailConn{conn, f}, nil
}

type frailConn struct {
	net.Conn

	all *Frail
}

// Read implements net.Conn.
func (c frailConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if oneIn := c.all.oneIn.Load(); err == nil && oneIn > 0 && rand.Int64N(oneIn) == 0 { //nolint:gosec // a test's dice, no secret
		return 0, errors.Join(net.ErrClosed, c.Close())
	}
	return n, err
}
