package pglog

import (
	"fmt"
	"sync"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// cursor is where a page ends.
type cursor struct {
	window int64
	last   int64 // the last number of the page
	final  bool  // no page of the window follows
	free   func()
}

// progress is how far a session has got: what was read of its window, what of that is settled,
// and what of that is stored in the database. It is safe for concurrent use.
type progress struct {
	mu     sync.Mutex
	slots  int // number of slots of the group
	window pgwindow.Window
	read   int64   // rows of the window up to here were read
	whole  bool    // all of the window was read
	end    int64   // if whole: rows of the window up to here were read or sent early
	done   int64   // rows of the window up to here are settled
	stored int64   // done, as stored in the database
	skip   []int64 // rows of the window that were sent early, ascending
	unread int     // pages returned and not settled
	rounds int     // windows whose snapshots were taken after this session began
	joined int     // windows that other slots have opened
}

// begin makes w the current window. Reading continues after its settled rows.
func (p *progress) begin(w pgwindow.Window, slots int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slots = slots
	p.enter(w)
}

// enter is begin, for callers that hold the lock.
func (p *progress) enter(w pgwindow.Window) {
	p.window = w
	p.read, p.done, p.stored = w.Last, w.Last, w.Last
	p.whole = w.Empty()
	p.end = 0
	p.unread = 0
	p.skip = nil
}

// next makes w, the window that follows, the current one. The rows in skip are left out.
func (p *progress) next(w pgwindow.Window, skip []int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enter(w)
	p.skip = skip
	if !w.Leads && p.slots > 1 {
		p.joined++
	}
	if w.Leads || p.slots == 1 || p.joined >= looks {
		p.rounds++
	}
}

// place returns where reading of the window continues.
func (p *progress) place() Place {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Place{Window: p.window, Read: p.read, Whole: p.whole, Skip: p.skip}
}

// round returns the Round of a page.
func (p *progress) round() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rounds
}

// groupSlots returns the number of slots of the group.
func (p *progress) groupSlots() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slots
}

// closed reports whether the slots are being changed and this one has ended.
func (p *progress) closed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.window.Slots) != p.slots
}

// newest reports whether the window's snapshot is known to be younger than the call that
// has opened it.
func (p *progress) newest() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.window.Leads || p.slots == 1
}

// waiting reports whether a page was returned and is not settled.
func (p *progress) waiting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unread > 0
}

// hand records what was read of the window, and returns it as a page.
func (p *progress) hand(rows Rows) driver.Page {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read, p.whole = rows.Last, rows.Whole
	if p.whole && len(p.skip) > 0 {
		p.end = p.skip[len(p.skip)-1]
	}
	if len(rows.Records) == 0 {
		p.passEnd()
		return driver.Page{}
	}
	p.unread++
	end := cursor{window: p.window.No, last: rows.Last, final: rows.Whole, free: rows.Free}
	return driver.Page{Records: rows.Records, Round: p.rounds, Cursor: end}
}

// endOf returns where the first settled records of page end.
func endOf(page driver.Page, settled int) (at cursor, last int64, err error) {
	at, ok := page.Cursor.(cursor)
	if !ok || settled < 1 || settled > len(page.Records) {
		return cursor{}, 0, fmt.Errorf("leat: cannot settle %d of a page of %d records", settled, len(page.Records))
	}
	if settled == len(page.Records) {
		return at, at.last, nil
	}
	return at, page.Records[settled-1].Seq, nil
}

// settle records that rows up to last are settled, and reports whether to store that now.
func (p *progress) settle(at cursor, last int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.window != p.window.No || last <= p.done {
		return false
	}
	p.done = last
	if last == at.last {
		p.unread--
		p.passEnd()
	}
	return last != at.last || !at.final
}

// passEnd settles the rest of the window once its last page is settled, if all of the window was sent
// early. The caller holds p.mu.
func (p *progress) passEnd() {
	if p.whole && p.unread == 0 {
		p.done = max(p.done, p.end)
	}
}

// isSettled reports whether rows up to last are settled already.
func (p *progress) isSettled(at cursor, last int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return at.window != p.window.No || last <= p.done
}

// unstored returns the settled position, and whether it is not stored yet.
func (p *progress) unstored() (window, last int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.window.No, p.done, p.done != p.stored
}

// isStored reports whether the database has the position already, or no longer needs it since the
// window is over.
func (p *progress) isStored(window, last int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return window != p.window.No || last <= p.stored
}

// store records that the database has the position.
func (p *progress) store(window, last int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if window == p.window.No {
		p.stored = max(p.stored, last)
	}
}

// after returns the window as it is once the first settled records of page are settled;
// without any, as it is now.
func (p *progress) after(page driver.Page, settled int) (pgwindow.Window, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.window
	w.Last = p.done
	if page.Cursor == nil && settled == 0 {
		return w, nil
	}
	at, last, err := endOf(page, settled)
	if err != nil {
		return w, err
	}
	if at.window != w.No {
		return w, fmt.Errorf("leat: page of window %d in window %d", at.window, w.No)
	}
	w.Last = last
	return w, nil
}
