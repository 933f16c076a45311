package roles

import "sync"

// maxOpen bounds the faults whose consequence is awaited. Older ones are dropped.
const maxOpen = 4

// watch reports the consequences of faults to the driver. An event in the process that would not occur
// without faults counts as the consequence of the oldest open fault, so that each fault that counts has
// had a consequence of its own.
type watch struct {
	reports *reporter

	mu   sync.Mutex
	open []int
}

func newWatch(r *reporter) *watch { return &watch{reports: r} }

// begin starts the watch for the consequence of a fault.
func (w *watch) begin(fault int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = append(w.open, fault)
	if len(w.open) > maxOpen {
		w.open = w.open[1:]
	}
}

// forget ends the watch for a fault.
func (w *watch) forget(fault int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, open := range w.open {
		if open == fault {
			w.open = append(w.open[:i], w.open[i+1:]...)
			return
		}
	}
}

// seen reports a consequence of the fault that has been open longest.
func (w *watch) seen(consequence string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) == 0 {
		return
	}
	w.reports.say(Report{Said: SaidSeen, Fault: w.open[0], Consequence: consequence})
	w.open = w.open[1:]
}
