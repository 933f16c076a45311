package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/faultnet"
)

// wire is a proxy in front of a database that recognizes a COMMIT.
type wire struct {
	isCommit func(b []byte) bool
	listener net.Listener
	group    sync.WaitGroup

	mu       sync.Mutex
	upstream string
	links    map[*link]struct{}
	closed   bool
	mode     faultnet.Cut
	fired    chan struct{} // closed by the next COMMIT, if mode is set
	stall    time.Time     // time until which it blocks all traffic
}

// link is one connection through a wire.
type link struct {
	wire           *wire
	client, server net.Conn
}

// openWire listens on a free port.
func openWire(ctx context.Context, upstream string, isCommit func(b []byte) bool) (*wire, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a proxy: %w", err)
	}
	w := &wire{upstream: upstream, isCommit: isCommit, listener: listener, links: map[*link]struct{}{}}
	w.group.Go(func() { w.accept(context.WithoutCancel(ctx)) }) // ends when the listener is closed
	return w, nil
}

func (w *wire) leadsTo() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.upstream
}

// lead makes the wire connect to upstream from the next connection on.
func (w *wire) lead(upstream string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.upstream = upstream
}

// address returns where the wire listens.
func (w *wire) address() string { return w.listener.Addr().String() }

func (w *wire) accept(ctx context.Context) {
	dialer := net.Dialer{Timeout: 2 * time.Second}
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		upstream := w.leadsTo()
		server, err := dialer.DialContext(ctx, "tcp", upstream)
		if err != nil { // the client sees the same as if the server had refused
			_ = client.Close()
			continue
		}
		l := &link{wire: w, client: client, server: server}
		w.mu.Lock()
		w.links[l] = struct{}{}
		stale := w.closed || w.upstream != upstream
		w.mu.Unlock()
		if stale {
			l.close()
		}
		w.group.Go(func() { l.pump(client, server, true) })
		w.group.Go(func() { l.pump(server, client, false) })
	}
}

// pump carries bytes in one direction until either side ends.
func (l *link) pump(from, to net.Conn, up bool) {
	defer l.close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !l.pass(to, buf[:n], up) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass forwards b. It returns false if the connection must be cut.
func (l *link) pass(to net.Conn, b []byte, up bool) bool {
	mode := faultnet.CutNever
	if up && l.wire.isCommit(b) {
		mode = l.wire.take()
	}
	if mode == faultnet.CutBefore {
		return false
	}
	if d := l.wire.stalled(); d > 0 {
		<-time.After(d)
	}
	if _, err := to.Write(b); err != nil {
		return false
	}
	return mode != faultnet.CutAfter
}

// take returns how to cut at the current COMMIT, and disarms the cut.
func (w *wire) take() faultnet.Cut {
	w.mu.Lock()
	defer w.mu.Unlock()
	mode := w.mode
	if mode != faultnet.CutNever {
		close(w.fired)
		w.mode = faultnet.CutNever
	}
	return mode
}

func (w *wire) stalled() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Until(w.stall)
}

// cutAtCommit cuts a connection at the next COMMIT. The channel is closed when that arrives.
func (w *wire) cutAtCommit(mode faultnet.Cut) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mode, w.fired = mode, make(chan struct{})
	return w.fired
}

// relent cancels a cut at the next COMMIT.
func (w *wire) relent() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mode = faultnet.CutNever
}

// hold blocks all traffic for d: connections stay open, and get no answer.
func (w *wire) hold(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stall = time.Now().Add(d)
}

// cut closes all connections, and returns how many there were.
func (w *wire) cut() int {
	w.mu.Lock()
	links := make([]*link, 0, len(w.links))
	for l := range w.links {
		links = append(links, l)
	}
	w.mu.Unlock()
	for _, l := range links {
		l.close()
	}
	return len(links)
}

func (l *link) close() {
	_ = errors.Join(l.client.Close(), l.server.Close()) // one of them is often closed already
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	delete(l.wire.links, l)
}

// close ends the wire and waits for its goroutines.
func (w *wire) close() {
	w.mu.Lock()
	w.closed = true
	w.stall = time.Time{}
	w.mu.Unlock()
	_ = w.listener.Close()
	w.cut()
	w.group.Wait()
}
