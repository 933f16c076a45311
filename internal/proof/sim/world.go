package sim

import (
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"
)

// World is one run. Everything except arrivals belongs to the scheduler, which is the goroutine
// that calls run.
type World struct {
	*chooser
	*history

	broken  string // the rule that the simulated parts break
	began   time.Time
	queue   queue
	waiting []*call // blocked until something changes
	faults  map[Fault]int
	nodes   []*Node
	calm    bool // nothing goes wrong
	quick   bool // and nothing takes long
	amiss   int  // calls in progress that are affected by a fault
	ending  bool // no process is started any more
	roused  bool // goroutines may be running
	live    atomic.Int64

	mu       sync.Mutex
	arrivals []*call
	bell     chan struct{}
}

func newWorld(s Schedule, trace bool) *World {
	return &World{
		chooser: newChooser(s), history: newHistory(trace), broken: s.Broken,
		began: time.Now(), faults: make(map[Fault]int), bell: make(chan struct{}, 1), roused: true,
	}
}

// now is the virtual time since the start.
func (w *World) now() time.Duration {
	return time.Since(w.began)
}

// after schedules do to be called in d.
func (w *World) after(d time.Duration, do func()) {
	w.queue.push(w.now()+d, do)
}

// note adds e to the history, as of now.
func (w *World) note(e Event) {
	e.At = w.now()
	w.add(e)
}

// run performs one event after another until the condition holds, which it checks whenever all goroutines
// are blocked. It returns false if the condition does not hold within most.
func (w *World) run(until func() bool, most time.Duration) bool {
	end := w.now() + most
	for {
		if w.roused {
			synctest.Wait()
			w.roused = false
			w.admit()
		}
		if until() {
			return true
		}
		now := w.now()
		if now >= end {
			return false
		}
		next, ok := w.queue.next()
		switch {
		case !ok:
			w.sleep(end - now)
		case next.at <= now:
			w.queue.pop()
			next.do()
		default:
			w.sleep(min(next.at, end) - now)
		}
	}
}

// sleep lets virtual time pass until d is over or a call arrives.
func (w *World) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.bell:
	}
	w.roused = true
}

// poke retries blocked calls.
func (w *World) poke() {
	waiting := w.waiting
	w.waiting = nil
	for _, c := range waiting {
		w.after(10*time.Microsecond, func() { w.apply(c) })
	}
}
