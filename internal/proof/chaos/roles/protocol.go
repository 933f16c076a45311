package roles

import (
	"encoding/json"
	"os"
	"sync"
	"time"
)

// The driver's commands to a process.
const (
	// DoArm arms a failure point for one hit.
	DoArm = "arm"
	// DoDisarm disarms all points and stops the watch for the fault.
	DoDisarm = "disarm"
	// DoForget stops the watch for the consequences of a fault.
	DoForget = "forget"
	// DoWatch asks how much is in flight, and starts the watch for consequences of a fault that strikes
	// now.
	DoWatch = "watch"
	// DoQuiet ends the work of a bank for good.
	DoQuiet = "quiet"
	// DoRest stops a bank from beginning transactions of its own until DoWork.
	DoRest = "rest"
	// DoWork ends DoRest.
	DoWork = "work"
	// DoEnqueue makes a bank enqueue Count events of a kind in addition to its work.
	DoEnqueue = "enqueue"
)

// Command is a request of the driver, a line of JSON.
type Command struct {
	// Do is the command.
	Do string
	// Fault is the number of the fault that the command belongs to.
	Fault int `json:",omitempty"`
	// Point and Kind are the fault to arm.
	Point string `json:",omitempty"`
	Kind  string `json:",omitempty"`
	// For is how long a pause lasts.
	For time.Duration `json:",omitempty"`
	// Count is the number of events to enqueue.
	Count int `json:",omitempty"`
}

// A process's reports to the driver.
const (
	// SaidReady is said once, when the process has begun.
	SaidReady = "ready"
	// SaidFired is said when an armed point was reached, before the fault happens there.
	SaidFired = "fired"
	// SaidWatching answers DoWatch.
	SaidWatching = "watching"
	// SaidSeen is said when a fault has had a consequence.
	SaidSeen = "seen"
	// SaidTotals is a report that comes at intervals.
	SaidTotals = "totals"
	// SaidRefused is said by a relay each time it finds its source unusable.
	SaidRefused = "refused"
)

// Report is a report of a process, a line of JSON.
type Report struct {
	// Said is the kind of report.
	Said string
	// Fault is the number of the fault.
	Fault int `json:",omitempty"`
	// Inflight is how much work is in flight at this moment.
	Inflight int64 `json:",omitempty"`
	// Consequence is the observed consequence.
	Consequence string `json:",omitempty"`
	// Totals counts since the start of the process.
	Totals Totals
}

// Totals counts what a process has done.
type Totals struct {
	// Enqueued counts the committed events of a bank, Settled the settled records of a relay, Effects the
	// committed effects of a consumer, and Repeats the deliveries that it has recognised as repeats.
	Enqueued, Settled, Effects, Repeats int64
	// Age is the greatest age, in milliseconds, of an event that had its effect since the last report.
	Age int64
}

// reporter writes reports.
type reporter struct {
	mu  sync.Mutex
	out *json.Encoder
}

func newReporter() *reporter { return &reporter{out: json.NewEncoder(os.Stdout)} }

// say writes a report, which has left the process when say returns. An error is ignored: if the driver has
// ended, the process's standard input ends as well.
func (r *reporter) say(report Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.out.Encode(report)
}
