package kafkasource

import "github.com/twmb/franz-go/pkg/kgo"

// window tracks the records of a partition from the first unsettled one on. Its low watermark is
// the only offset that may be committed: with any higher one, a crash would lose the records in
// between.
// See design 16.1.
type window struct {
	marks []mark
	first int // number of marks[0]
	done  int // how many of marks are settled

	next  int64 // the low watermark: every record below it is settled
	epoch int32 // of the record below it
}

type mark struct {
	offset  int64
	epoch   int32
	settled bool
}

func newWindow(begin int64) window {
	return window{next: begin, epoch: -1}
}

// add takes the partition's next record and returns its number.
func (w *window) add(r *kgo.Record) int {
	w.marks = append(w.marks, mark{offset: r.Offset, epoch: r.LeaderEpoch})
	return w.first + len(w.marks) - 1
}

// settle records that record number n is done.
func (w *window) settle(n int) {
	w.marks[n-w.first].settled = true
	w.done++
	passed := 0
	for passed < len(w.marks) && w.marks[passed].settled {
		passed++
	}
	if passed == 0 {
		return
	}
	last := w.marks[passed-1]
	w.next, w.epoch = last.offset+1, last.epoch
	w.marks = w.marks[passed:]
	w.first += passed
	w.done -= passed
}

// ahead returns the number of settled records above the first unsettled one.
func (w *window) ahead() int { return w.done }

// lowest reports whether record number n is the one that holds back the watermark.
func (w *window) lowest(n int) bool { return n == w.first }
