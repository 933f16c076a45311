package sim

import (
	"container/heap"
	"time"
)

// event is a planned action of the scheduler.
type event struct {
	at time.Duration
	n  int // order of planning, which decides between events of the same time
	do func()
}

// queue holds the planned events, the next first.
type queue struct {
	all     eventHeap
	planned int
}

func (q *queue) push(at time.Duration, do func()) {
	q.planned++
	heap.Push(&q.all, event{at: at, n: q.planned, do: do})
}

func (q *queue) next() (event, bool) {
	if len(q.all) == 0 {
		return event{}, false
	}
	return q.all[0], true
}

func (q *queue) pop() {
	heap.Pop(&q.all)
}

// eventHeap implements heap.Interface.
type eventHeap []event

func (h *eventHeap) Len() int { return len(*h) }

func (h *eventHeap) Less(i, j int) bool {
	a, b := (*h)[i], (*h)[j]
	if a.at != b.at {
		return a.at < b.at
	}
	return a.n < b.n
}

func (h *eventHeap) Swap(i, j int) { (*h)[i], (*h)[j] = (*h)[j], (*h)[i] }

// Push implements heap.Interface.
func (h *eventHeap) Push(x any) {
	e, _ := x.(event)
	*h = append(*h, e)
}

// Pop implements heap.Interface.
func (h *eventHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = event{}
	*h = (*h)[:last]
	return e
}
