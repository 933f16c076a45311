package pglog

import (
	"slices"
	"sync"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// early records the rows that a session has returned before its windows reach them. It is safe
// for concurrent use.
//
// A window is opened only when every early page is settled or withdrawn. So the rows of a window
// are of two kinds: those that were acknowledged early, which it leaves out, and others, which it
// returns. Within a key the former come first: the stream delivers a key's rows in the order of
// their commits, starting behind a window.
type early struct {
	mu      sync.Mutex
	allowed bool      // set by Follow
	stream  Stream    // joined; nil if none is
	fresh   bool      // stream was joined with the newest window
	lookAt  time.Time // the latest time to open a window, while there is a stream

	generation int              // number of the generation of pages; Withdraw begins a new one
	unsettled  int              // pages of this generation
	sent       map[int64]uint64 // acknowledged rows and their transactions, not behind the position
}

// maxSent bounds the rows that are remembered: once it is reached, a window is opened early.
const maxSent = 50_000

// earlyCursor is the Cursor of an early page.
type earlyCursor struct {
	generation int
	xids       []uint64
}

// follow sets whether to follow, and reports whether that is a change.
func (e *early) follow(on bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.allowed == on {
		return false
	}
	e.allowed = on
	if !on {
		e.leave("the relay asks for whole windows")
	}
	return true
}

// leave drops the stream. The caller holds e.mu.
func (e *early) leave(because string) {
	if e.stream != nil {
		e.stream.Close(because)
		e.stream = nil
	}
}

// wantsJoin reports whether a stream should be joined.
func (e *early) wantsJoin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.allowed && e.stream == nil
}

// enter begins another window, and joins stream unless it is nil. prev and target are the
// window's. It returns the rows that the window leaves out, ascending.
func (e *early) enter(prev, target pgwindow.Snapshot, stream Stream) (skip []int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for seq, xid := range e.sent {
		switch {
		case prev.Sees(xid):
			delete(e.sent, seq) // behind the position
		case target.Sees(xid):
			skip = append(skip, seq)
		}
	}
	slices.Sort(skip)
	if stream != nil && e.allowed && e.stream == nil {
		e.stream, e.fresh = stream, true
	}
	return skip
}

// looked sets the time of the next look at the log. It reports whether a stream is joined, and
// whether this is the first look since it was joined.
func (e *early) looked(again time.Time) (joined, fresh bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lookAt = again
	joined, fresh = e.stream != nil, e.fresh
	e.fresh = false
	return joined, fresh
}

// page returns the next rows of the stream, which may be none. It reports false if the log must
// be read: there is no stream, or the time of the next look has come.
func (e *early) page(target pgwindow.Snapshot, round, limit int, now time.Time) (driver.Page, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stream == nil || !now.Before(e.lookAt) || len(e.sent) >= maxSent {
		return driver.Page{}, false
	}
	var records []outbox.Record
	var xids []uint64
	for more := true; more && len(records) == 0; {
		rows, ok := e.stream.Take(target, limit)
		if !ok {
			e.stream = nil
			return driver.Page{}, false
		}
		for i := range rows {
			if _, sent := e.sent[rows[i].Seq]; !sent {
				records, xids = append(records, rows[i].Record), append(xids, rows[i].XID)
			}
		}
		more = len(rows) == limit // an earlier stream may have sent all of rows
	}
	if len(records) == 0 {
		return driver.Page{}, true
	}
	e.unsettled++
	return driver.Page{Records: records, Early: true, Round: round, Cursor: earlyCursor{e.generation, xids}}, true
}

// current reports whether p was not withdrawn.
func (e *early) current(p driver.Page) bool {
	at, ok := p.Cursor.(earlyCursor)
	e.mu.Lock()
	defer e.mu.Unlock()
	return ok && at.generation == e.generation
}

// settle notes that the first n records of p are acknowledged. It reports false if p is not
// an early page.
func (e *early) settle(p driver.Page, n int) bool {
	at, ok := p.Cursor.(earlyCursor)
	if !ok {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if at.generation != e.generation {
		return true
	}
	for i := range min(n, len(p.Records)) {
		e.remember(p.Records[i].Seq, at.xids[i])
	}
	if n >= len(p.Records) {
		e.unsettled--
	}
	return true
}

// remember notes an acknowledged row. The caller holds e.mu.
func (e *early) remember(seq int64, xid uint64) {
	if e.sent == nil {
		e.sent = make(map[int64]uint64)
	}
	e.sent[seq] = xid
}

// withdraw takes back p, except the records at the places acked, and all early pages after it.
func (e *early) withdraw(p driver.Page, acked []int) {
	at, ok := p.Cursor.(earlyCursor)
	e.mu.Lock()
	defer e.mu.Unlock()
	if !ok || at.generation != e.generation {
		return
	}
	for _, i := range acked {
		e.remember(p.Records[i].Seq, at.xids[i])
	}
	e.forget()
	e.leave("a page could not be delivered as it was")
}

// discard takes back all early pages that are not settled: they will not be sent.
func (e *early) discard() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forget()
}

// forget starts a new generation of pages. The caller holds e.mu.
func (e *early) forget() {
	e.generation++
	e.unsettled = 0
}

// waiting reports whether an early page was returned and is not settled.
func (e *early) waiting() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.unsettled > 0
}

// settledCount returns how many rows were acknowledged early and may be ahead of the position.
func (e *early) settledCount() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.sent)
}

func (e *early) joined() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stream != nil
}
