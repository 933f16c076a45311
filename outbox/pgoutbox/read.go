package pgoutbox

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// largeBacklog is the number of records from which on it is worth a transaction
// not to walk them twice.
const largeBacklog = 100_000

// looks is how many windows one Read goes through. One that it opens itself is the
// last: its snapshot was taken after Read was called, so if it is empty there is
// nothing to read; on a cluster busy with other things the next would be empty as
// well. With several slots, it may come to windows that others have opened: the
// first may be older than the call; the second was not there when the first was
// taken, but its snapshot may be as old; the third was opened by a slot that had
// seen the second.
const looks = 3

// Read implements driver.Session: the next page of the window; past its end, once
// all of it is settled, the first page of the next window, if a probe finds that
// there may be something in one. ErrSlotClosed where the slots are being changed and
// this one has come to its end.
func (n *session) Read(ctx context.Context, limit int) (driver.Page, error) {
	if limit < 1 {
		return driver.Page{}, outbox.ConfigError("limit", limit, "must be positive")
	}
	n.reading.Lock()
	defer n.reading.Unlock()
	if n.closed {
		return driver.Page{}, driver.ErrSlotClosed
	}
	page, err := n.readWindow(ctx, limit)
	if err != nil || len(page.Records) > 0 {
		return page, unusable(err)
	}
	n.mu.Lock()
	waiting := n.unread > 0
	n.mu.Unlock()
	if waiting {
		return driver.Page{Waiting: true}, nil
	}
	for range looks {
		opened, err := n.openNext(ctx)
		if err != nil || !opened {
			return driver.Page{}, unusable(err)
		}
		if n.closed {
			return driver.Page{}, driver.ErrSlotClosed
		}
		page, err = n.readWindow(ctx, limit)
		if err != nil || len(page.Records) > 0 || n.window.Leads || n.slots == 1 {
			return page, unusable(err)
		}
	}
	return driver.Page{}, nil
}

// openNext goes to the next window if there may be something in it, else stores
// the position.
func (n *session) openNext(ctx context.Context) (bool, error) {
	sql := n.source.ob.window
	probe, changing, err := n.source.ob.chain.Probe(ctx, n.reader, n.facts, n.lease.Slot.Group, n.window)
	if err != nil {
		return false, err
	}
	if !probe.New(n.window) && !changing {
		return false, n.flush(ctx)
	}
	if !n.whole {
		return false, fmt.Errorf("leat: window %d was not read to its end", n.window.No)
	}
	if err := failpoint.Inject(ctx, failpoint.RelayBeforeFinishWindow); err != nil {
		return false, err
	}
	if probe.Sequence-n.window.SourceFloor > largeBacklog {
		if err := sql.Raise(ctx, n.reader, n.lease, n.window.No, probe.Sequence); err != nil {
			return false, err
		}
	}
	w, err := n.next(ctx, probe, changing)
	if err != nil {
		return false, err
	}
	if err := failpoint.Inject(ctx, failpoint.RelayWindowOpened); err != nil {
		return false, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.enter(w)
	if !w.Leads && n.slots > 1 {
		n.joined++
	}
	if w.Leads || n.slots == 1 || n.joined >= looks {
		n.opened++
	}
	return true, nil
}

// next finishes the window and takes the next one. Where there is one slot, and is
// to be one, it shares the chain with nobody.
func (n *session) next(ctx context.Context, probe pgwindow.Probe, changing bool) (pgwindow.Window, error) {
	if n.slots > 1 || changing {
		return n.source.ob.chain.Next(ctx, n.reader, n.lease, n.window, probe.Sequence)
	}
	w, err := n.source.ob.window.Open(ctx, n.reader, n.lease, n.window, probe.Sequence)
	w.Slots = 1
	return w, err
}

// readWindow returns the next rows of the window: first those of transactions
// that were under way when it began, at or below its floor (phase B), then those
// above (phase A). Only a page that is not full ends a phase.
func (n *session) readWindow(ctx context.Context, limit int) (driver.Page, error) {
	w := &n.window
	if n.read < w.Floor {
		if w.HasEarly() {
			sql, args := n.early(limit)
			records, full, err := n.query(ctx, limit, sql, args...)
			if err != nil || full {
				return n.hand(records, lastSeq(records, n.read), false), err
			}
			if len(records) > 0 {
				return n.hand(records, w.Floor, false), nil
			}
		}
		n.read = w.Floor
	}
	if n.whole {
		return driver.Page{}, nil
	}
	sql, args := n.late(limit)
	records, full, err := n.query(ctx, limit, sql, args...)
	if err != nil {
		return driver.Page{}, err
	}
	n.whole = !full
	return n.hand(records, lastSeq(records, n.read), n.whole), nil
}

// hand notes that the window was read up to last and returns the page.
func (n *session) hand(records []outbox.Record, last int64, final bool) driver.Page {
	n.read = last
	if len(records) == 0 {
		return driver.Page{}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unread++
	return driver.Page{Records: records, Round: n.opened, Cursor: cursor{window: n.window.No, last: last, final: final}}
}

func lastSeq(records []outbox.Record, otherwise int64) int64 {
	if len(records) == 0 {
		return otherwise
	}
	return records[len(records)-1].Seq
}
