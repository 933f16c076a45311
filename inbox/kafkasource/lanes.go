package kafkasource

import (
	"container/heap"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// item is a record on its way through handlers.
type item struct {
	record  *kgo.Record
	n       int   // its number in the window
	prev    int64 // offset of the record delivered before it
	attempt int   // deliveries so far
	lane    *lane // nil: it follows nothing
	due     time.Time
}

// lane is the queue of one key's records. The first of them is ready, in a handler, or delayed;
// the others wait here.
type lane struct {
	key     string
	waiting []*item
}

// lanes decides which record is delivered next: only the earliest unsettled record of each key is
// eligible, and of these the earliest is delivered.
type lanes struct {
	serial  bool
	keyless bool // records without a key are unordered, otherwise they follow each other
	byKey   map[string]*lane
	ready   items // by offset
	delayed items // by due
}

func newLanes(serial, keyless bool) *lanes {
	return &lanes{
		serial:  serial,
		keyless: keyless,
		byKey:   make(map[string]*lane),
		ready:   items{less: func(a, b *item) bool { return a.n < b.n }},
		delayed: items{less: func(a, b *item) bool { return a.due.Before(b.due) }},
	}
}

// add takes a record that comes after all that were added before it.
func (l *lanes) add(it *item) {
	if it.record.Key == nil && l.keyless && !l.serial {
		heap.Push(&l.ready, it)
		return
	}
	key := ""
	if !l.serial {
		key = string(it.record.Key)
	}
	if busy, ok := l.byKey[key]; ok {
		it.lane = busy
		busy.waiting = append(busy.waiting, it)
		return
	}
	it.lane = &lane{key: key}
	l.byKey[key] = it.lane
	heap.Push(&l.ready, it)
}

// peek returns what may be delivered next, or nil.
func (l *lanes) peek() *item {
	if l.ready.Len() == 0 {
		return nil
	}
	return l.ready.list[0]
}

// take removes what peek has returned.
func (l *lanes) take() {
	heap.Pop(&l.ready)
}

// settle makes the next record of its key eligible.
func (l *lanes) settle(it *item) {
	if it.lane == nil {
		return
	}
	if len(it.lane.waiting) == 0 {
		delete(l.byKey, it.lane.key)
		return
	}
	next := it.lane.waiting[0]
	it.lane.waiting = it.lane.waiting[1:]
	heap.Push(&l.ready, next)
}

// delay makes the record ready again at due. Its key waits.
func (l *lanes) delay(it *item, due time.Time) {
	it.due = due
	heap.Push(&l.delayed, it)
}

// wake makes due records ready, and returns when the next one will be due.
func (l *lanes) wake(now time.Time) (next time.Time, ok bool) {
	for l.delayed.Len() > 0 {
		if first := l.delayed.list[0]; first.due.After(now) {
			return first.due, true
		}
		heap.Push(&l.ready, heap.Pop(&l.delayed))
	}
	return time.Time{}, false
}

// items is a heap.
type items struct {
	list []*item
	less func(a, b *item) bool
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h *items) Len() int           { return len(h.list) }
func (h *items) Less(i, j int) bool { return h.less(h.list[i], h.list[j]) }
func (h *items) Swap(i, j int)      { h.list[i], h.list[j] = h.list[j], h.list[i] }

// Push implements heap.Interface.
func (h *items) Push(x any) {
	if it, ok := x.(*item); ok {
		h.list = append(h.list, it)
	}
}

// Pop implements heap.Interface.
func (h *items) Pop() any {
	last := h.list[len(h.list)-1]
	h.list[len(h.list)-1] = nil
	h.list = h.list[:len(h.list)-1]
	return last
}
