package faultnet

import (
	"context"
	"net"
	"sync"
)

// Lines are a client's connections, which can be cut all at once. The zero value is ready for use,
// by any number of goroutines.
type Lines struct {
	mu    sync.Mutex
	conns []net.Conn
}

// Dial dials a connection that [Lines.Cut] cuts.
func (l *Lines) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.conns = append(l.conns, conn)
	}
	return conn, err
}

// Cut cuts all open connections and returns their number.
func (l *Lines) Cut() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.conns {
		if conn.Close() == nil { // else it was closed before
			n++
		}
	}
	l.conns = nil
	return n
}
