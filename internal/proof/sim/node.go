package sim

import (
	"context"
	"slices"
)

// Node is a process: everything that runs in it ends with it.
type Node struct {
	w     *World
	name  string
	place int // position among all nodes, in order of their start

	ctx    context.Context //nolint:containedctx // a process's life
	cancel context.CancelFunc
	gone   chan struct{} // closed when the process is killed
	wake   chan struct{}

	// The scheduler owns these.
	dead    bool
	stopped bool
	txs     []*tx    // open transactions, rolled back when the connection breaks
	hangUps []func() // called when the connection breaks

	// err is the result of main, and done is true once it has returned. Guarded by w.mu.
	err  error
	done bool
}

// start starts a process that runs main. An error of main is an error of the process.
func (w *World) start(name string, main func(n *Node) error) *Node {
	n := &Node{w: w, name: name, place: len(w.nodes), gone: make(chan struct{}), wake: make(chan struct{}, 1)}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	w.nodes = append(w.nodes, n)
	n.spawn(func() {
		err := main(n)
		w.mu.Lock()
		defer w.mu.Unlock()
		n.err, n.done = err, true
	})
	return n
}

// spawn runs f in a goroutine of the process. It is called from the scheduler.
func (n *Node) spawn(f func()) {
	n.w.live.Add(1)
	n.w.roused = true
	go func() {
		defer n.w.live.Add(-1)
		f()
	}()
}

// kill ends the process: from now on it receives nothing and does nothing, but what it has sent may
// still arrive. Its connections break some time later.
func (n *Node) kill() {
	if n.dead {
		return
	}
	n.dead = true
	n.w.note(Event{What: Crashed, Node: n.name})
	close(n.gone)
	n.cancel()
	n.w.roused = true
	for _, t := range slices.Clone(n.txs) {
		n.w.after(n.w.latency(), t.abort)
	}
	for _, f := range n.hangUps {
		n.w.after(n.w.latency(), f)
	}
}

// stop asks the process to stop.
func (n *Node) stop() {
	n.stopped = true
	n.cancel()
	n.w.roused = true
}

// ended reports whether main has returned, and its result.
func (n *Node) ended() (bool, error) {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	return n.done, n.err
}

// up reports whether the process should be running.
func (n *Node) up() bool {
	return !n.dead && !n.stopped
}

// ring wakes what waits for commits in the process.
func (n *Node) ring() {
	select {
	case n.wake <- struct{}{}:
		n.w.roused = true
	default:
	}
}
