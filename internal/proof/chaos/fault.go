package chaos

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/proof/report"
)

// fault is a fault that was injected, or attempted.
type fault struct {
	id          int
	point, kind string
	target      string
	at, until   time.Time
	inflight    int64
	consequence string
}

// counts reports whether work was under way and a consequence was seen.
// See design 18.5.
func (f *fault) counts() bool { return f.inflight > 0 && f.consequence != "" }

// tally records faults and counts them.
type tally struct {
	log   *history.Writer
	start time.Time
	limit int
	done  func() // called when limit has been reached

	mu       sync.Mutex
	last     int
	injected int
	counted  int
	points   map[string]int // counted faults, by point
	marks    []report.Mark
	err      error
}

func newTally(log *history.Writer, start time.Time, limit int, done func()) *tally {
	return &tally{log: log, start: start, limit: limit, done: done, points: map[string]int{}}
}

// begin creates a fault with the next number.
func (t *tally) begin(point, kind, target string) *fault {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	return &fault{id: t.last, point: point, kind: kind, target: target, at: time.Now()}
}

// end records a fault that has struck.
func (t *tally) end(f *fault) {
	f.until = time.Now()
	err := t.log.Write(history.Line{
		Type: history.Fault, At: f.at.UnixMicro(), Until: f.until.UnixMicro(), Point: f.point, Kind: f.kind,
		Target: f.target, Inflight: f.inflight, Consequence: f.consequence,
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = errors.Join(t.err, err)
	t.injected++
	t.marks = append(t.marks, report.Mark{T: f.at.Sub(t.start).Seconds(), Point: f.point, Kind: f.kind})
	if !f.counts() {
		return
	}
	t.counted++
	t.points[f.point]++
	if t.counted == t.limit {
		t.done()
	}
}

// figures returns how many faults were injected, how many of them count, and at how many points these
// struck.
func (t *tally) figures() (injected, counted, points int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.injected, t.counted, len(t.points)
}

// marked returns the faults as marks for the plot, in the order of their time.
func (t *tally) marked() []report.Mark {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(t.marks), func(a, b report.Mark) int { return cmp.Compare(a.T, b.T) })
}
