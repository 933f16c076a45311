package roles

import (
	"encoding/json"
	"os"
	"sync"
	"time"
)

// What the driver asks of a process.
const (
	// DoArm arms a failure point, for one hit.
	DoArm = "arm"
	// DoDisarm disarms all points and gives the fault up.
	DoDisarm = "disarm"
	// DoForget gives a fault up.
	DoForget = "forget"
	// DoWatch asks how much is in flight and what follows from a fault that strikes now.
	DoWatch = "watch"
	// DoQuiet ends the work of a bank.
	DoQuiet = "quiet"
	// DoRest has a bank begin no transactions of its own until DoWork.
	DoRest = "rest"
	// DoWork ends DoRest.
	DoWork = "work"
	// DoEnqueue has a bank enqueue so many events of a kind beside its work.
	DoEnqueue = "enqueue"
)

// Command is a request of the driver, a line of JSON.
type Command struct {
	// Do says what.
	Do string
	// Fault is the number of the fault that it belongs to.
	Fault int `json:",omitempty"`
	// Point and Kind are the fault to arm.
	Point string `json:",omitempty"`
	Kind  string `json:",omitempty"`
	// For is how long a pause lasts.
	For time.Duration `json:",omitempty"`
	// Count is how many events are to be enqueued.
	Count int `json:",omitempty"`
}

// What a process tells the driver.
const (
	// SaidReady is said once, when the process has begun.
	SaidReady = "ready"
	// SaidFired is said when an armed point was reached, before what happens there.
	SaidFired = "fired"
	// SaidWatching answers DoWatch.
	SaidWatching = "watching"
	// SaidSeen is said when something has followed from a fault.
	SaidSeen = "seen"
	// SaidTotals is said every now and then.
	SaidTotals = "totals"
	// SaidRefused is said by a relay as often as it finds that its source is unusable.
	SaidRefused = "refused"
)

// Report is what a process says, a line of JSON.
type Report struct {
	// Said is what it is about.
	Said string
	// Fault is the number of the fault.
	Fault int `json:",omitempty"`
	// Inflight is the work under way at this moment.
	Inflight int64 `json:",omitempty"`
	// Consequence is what has followed.
	Consequence string `json:",omitempty"`
	// Totals are since the start of the process.
	Totals Totals
}

// Totals count what a process has done.
type Totals struct {
	// Enqueued are the committed events of a bank, Settled the records of a relay that
	// are behind it, Effects the committed effects of a consumer, Repeats the
	// deliveries that were recognised as repeats.
	Enqueued, Settled, Effects, Repeats int64
	// Age is the age in milliseconds of the oldest event that had its effect since the
	// last report.
	Age int64
}

// reporter writes reports.
type reporter struct {
	mu  sync.Mutex
	out *json.Encoder
}

func newReporter() *reporter { return &reporter{out: json.NewEncoder(os.Stdout)} }

// say writes a report, which has left the process when say returns. A driver that has
// gone is not an error here: our standard input ends as well.
func (r *reporter) say(report Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.out.Encode(report)
}
