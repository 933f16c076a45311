package pgoutbox_test

import (
	"context"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// clusterWire is a relay's way to Kafka, which a test can cut.
type clusterWire struct {
	mu    sync.Mutex
	conns []net.Conn
}

// opts make a client go that way.
func (w *clusterWire) opts() []kgo.Opt { return []kgo.Opt{kgo.Dialer(w.dial)} }

func (w *clusterWire) dial(ctx context.Context, network, host string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, host)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.conns = append(w.conns, conn)
	}
	return conn, err
}

// cut closes all connections that there are and returns how many those were.
func (w *clusterWire) cut() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, conn := range w.conns {
		if conn.Close() == nil {
			n++
		}
	}
	w.conns = nil
	return n
}
