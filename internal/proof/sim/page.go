package sim

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// page returns the next records of the window.
func (s *session) page(limit int) driver.Page {
	page := driver.Page{Round: s.opened, Cursor: s.pos.no}
	if s.exhausted {
		return page
	}
	rows := s.window()
	if s.db.w.broken == OrderByXID {
		limit = len(rows) + 1 // one page must hold the whole window: no cursor goes on in the order of xids
	}
	page.Records = make([]outbox.Record, 0, limit)
	for i := range rows {
		if len(page.Records) == limit {
			break
		}
		page.Records = append(page.Records, rows[i].record)
		s.db.claimed[rows[i].record.Seq] = s.node
	}
	if len(page.Records) < limit {
		s.exhausted = true
	}
	if n := len(page.Records); n > 0 {
		s.read = highest(page.Records)
		if s.db.w.broken == AdvanceOnRead {
			s.settle(s.read)
		}
	}
	return page
}

// window returns the rows of the window that were not handed out, in order of seq.
func (s *session) window() []row {
	var rows []row
	if s.db.emptied {
		return nil // a reader that does not check for this takes the rows of its window for settled
	}
	for _, r := range s.db.rows {
		switch {
		case s.db.w.broken == RowsClaimed && s.db.claimed[r.record.Seq] != nil && s.db.claimed[r.record.Seq].up():
		case !s.reads(&r.record) || s.skips(&r.record) || !s.db.committed[r.xid] && s.db.w.broken != Uncommitted:
		case s.db.w.broken == IDCursor:
			if r.record.Seq > max(s.read, s.slot.pos.last) {
				rows = append(rows, r)
			}
		case r.record.Seq > s.read && s.pos.target.sees(r.xid) && (!s.pos.prev.sees(r.xid) || s.db.w.broken == WholeSnapshot):
			rows = append(rows, r)
		}
	}
	if s.db.w.broken == OrderByXID {
		slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.xid, b.xid) })
	}
	return rows
}

// Advance implements driver.Session: a compare-and-set that only goes forward.
func (s *session) Advance(ctx context.Context, p driver.Page, n int) error {
	last := highest(p.Records[:n])
	return s.write(ctx, "advance", strconv.FormatInt(last, 10), func() error { return s.pass(p, last) })
}

// pass moves the position to last, the number of a record of page p.
func (s *session) pass(p driver.Page, last int64) error {
	if no, _ := p.Cursor.(int64); no != s.slot.pos.no {
		if s.db.w.broken == NoEpoch || s.db.w.broken == RowsClaimed {
			return nil
		}
		return driver.ErrLeaseLost
	}
	s.settle(last)
	return nil
}

// settle stores the position.
func (s *session) settle(last int64) {
	s.notePassed(last)
	s.slot.pos.last = max(s.slot.pos.last, last)
	s.settled = max(s.settled, last)
}

// notePassed notes as settled the records of the open window from the position to last.
func (s *session) notePassed(last int64) {
	for i := range s.db.rows {
		r := &s.db.rows[i].record
		if r.Seq > s.slot.pos.last && r.Seq <= last && s.reads(r) && s.inWindow(s.db.rows[i].xid) {
			s.db.w.note(recordEvent(Settled, s.node, r))
		}
	}
}

// inWindow reports whether the open window holds the rows of x.
func (s *session) inWindow(x xid) bool {
	return s.db.committed[x] && s.slot.pos.target.sees(x) && !s.slot.pos.prev.sees(x)
}

// highest returns the highest number among records.
func highest(records []outbox.Record) int64 {
	return slices.MaxFunc(records, func(a, b outbox.Record) int { return cmp.Compare(a.Seq, b.Seq) }).Seq
}
