package prover

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
)

// Dial opens a connection to a server.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Wires are connections that can be cut on this side. Behind a pooler, the server's connection may be used
// by other clients.
type Wires struct {
	mu   sync.Mutex
	open map[*wire]bool
	shut bool
}

// wire is one of them.
type wire struct {
	net.Conn

	all *Wires
}

// ErrShut is the error of a dial after the end of a run.
var ErrShut = errors.New("leat: prove is over")

// Through returns a dial whose connections are among the wires.
func (w *Wires) Through(base Dial) Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := base(ctx, network, address)
		if err != nil {
			return nil, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.shut {
			return nil, errors.Join(ErrShut, conn.Close())
		}
		if w.open == nil {
			w.open = map[*wire]bool{}
		}
		one := &wire{Conn: conn, all: w}
		w.open[one] = true
		return one, nil
	}
}

// Close implements net.Conn.
func (w *wire) Close() error {
	w.all.mu.Lock()
	delete(w.all.open, w)
	w.all.mu.Unlock()
	return w.Conn.Close()
}

// CutOne cuts one of the wires, chosen at random, and reports whether there was one.
func (w *Wires) CutOne() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) == 0 {
		return false
	}
	skip := rand.IntN(len(w.open)) //nolint:gosec // any will do
	for one := range w.open {
		if skip == 0 {
			delete(w.open, one)
			_ = one.Conn.Close()
			break
		}
		skip--
	}
	return true
}

// CutAll cuts all of them. With forGood, later dials fail.
func (w *Wires) CutAll(forGood bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut = w.shut || forGood
	for one := range w.open {
		_ = one.Conn.Close()
	}
	clear(w.open)
}
