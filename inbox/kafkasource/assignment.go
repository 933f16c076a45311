package kafkasource

import (
	"context"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/driver"
)

// assignment is a partition for as long as this member has it. The poll loop pushes records; the
// one goroutine that serves the assignment takes them and reports its progress.
type assignment struct {
	begin driver.Position // Offset is where reading begins

	ctx      context.Context //nolint:containedctx // the lifetime of the assignment, parent of its messages' contexts
	cancel   context.CancelCauseFunc
	draining chan struct{} // closed: deliver nothing new
	drain    func()
	ended    chan struct{} // closed when its goroutine has ended
	wake     chan struct{}
	gate     gate
	reread   func(cause error)
	maxCount int
	maxBytes int
	mark     noted // guarded by the member's committing
	doubts   *doubts

	mu        sync.Mutex
	fetched   []*kgo.Record
	next      int64 // the lowest offset that can come next
	count     int   // records in memory
	bytes     int
	paused    bool
	low       int64
	lowEpoch  int32
	committed int64
	acked     int64 // the offset acknowledged last, −1 for none
	rewound   bool  // low stays where reading began
}

// gate stops and starts the fetching of a partition.
type gate interface {
	pause(partition int32)
	resume(partition int32)
}

func newAssignment(ctx context.Context, begin driver.Position, cfg *Config, gate gate, reread func(cause error)) *assignment {
	a := &assignment{
		begin:    begin,
		draining: make(chan struct{}),
		ended:    make(chan struct{}),
		wake:     make(chan struct{}, 1),
		gate:     gate,
		reread:   reread,
		maxCount: cfg.MaxBuffered,
		maxBytes: cfg.MaxBufferedBytes,
		next:     begin.Offset,
		low:      begin.Offset,
		lowEpoch: -1,
		// This makes the first commit store where reading began: an idle partition keeps its
		// place, too.
		committed: -1,
		acked:     -1,
	}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	a.drain = sync.OnceFunc(func() { close(a.draining) })
	return a
}

// push takes records that were fetched. It returns false if their offsets
// went back.
func (a *assignment) push(records []*kgo.Record) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range records {
		if r.Offset < a.next {
			return false
		}
		a.next = r.Offset + 1
		a.fetched = append(a.fetched, r)
		a.count++
		a.bytes += sizeOf(r)
	}
	if !a.paused && (a.count >= a.maxCount || a.bytes >= a.maxBytes) {
		a.paused = true
		a.gate.pause(a.begin.Partition)
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
	return true
}

// take returns the records pushed since its last call.
func (a *assignment) take() []*kgo.Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	fetched := a.fetched
	a.fetched = nil
	return fetched
}

// settled records that r need not be kept any longer, and the position of the watermark.
func (a *assignment) settled(r *kgo.Record, w *window) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count--
	a.bytes -= sizeOf(r)
	if !a.rewound {
		a.low, a.lowEpoch = w.next, w.epoch
	}
	if a.paused && a.count <= a.maxCount/2 && a.bytes <= a.maxBytes/2 {
		a.paused = false
		a.gate.resume(a.begin.Partition)
	}
}

// finish undoes the assignment's changes to the client.
func (a *assignment) finish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.paused {
		a.paused = false
		a.gate.resume(a.begin.Partition)
	}
}

// uncommitted returns the low watermark, and false if it is committed.
func (a *assignment) uncommitted() (kgo.EpochOffset, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return kgo.EpochOffset{Epoch: a.lowEpoch, Offset: a.low}, a.low != a.committed
}

func (a *assignment) wasCommitted(offset int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.committed = offset
}

// watermark returns the offset that the next owner begins at.
func (a *assignment) watermark() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.low
}

// position returns the position of r, which was delivered after the record at prev.
func (a *assignment) position(r *kgo.Record, prev int64, serial bool) driver.Position {
	p := a.begin
	p.Offset, p.Prev, p.Serial = r.Offset, prev, serial
	return p
}

// messageContext returns the context of a message, a child of the assignment's.
func (a *assignment) messageContext(r *kgo.Record, prev int64, serial bool) context.Context {
	ctx := context.WithValue(a.ctx, recordKey{}, r)
	if a.begin.Source == "" { // the brokers do not tell topic ids: a position would name no log
		return ctx
	}
	return driver.WithReread(driver.WithPosition(ctx, a.position(r, prev, serial)), a.reread)
}

func sorted(parts map[int32]*assignment) []*assignment {
	list := make([]*assignment, 0, len(parts))
	for _, a := range parts {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b *assignment) int { return int(a.begin.Partition) - int(b.begin.Partition) })
	return list
}
