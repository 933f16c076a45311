package memoutbox

import (
	"cmp"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
)

// byDue orders messages that are not due yet.
func byDue(a, b outbox.Record) int {
	return cmp.Or(a.NotBefore.Compare(b.NotBefore), cmp.Compare(a.Seq, b.Seq))
}

// draw returns the next number of the log. The caller holds ob.mu.
func (ob *Outbox) draw() int64 {
	ob.seq++
	return ob.seq
}

// promote moves messages whose time has come into the log, in the order of their times, as a
// separate transaction would. Messages whose key an open transaction holds stay, since that
// transaction has drawn its numbers already. It is called on each access; a relay's polling is
// one. The caller holds ob.mu.
func (ob *Outbox) promote() {
	now := time.Now().UTC().Truncate(time.Microsecond)
	slices.SortFunc(ob.later, byDue)
	ob.later = slices.DeleteFunc(ob.later, func(r outbox.Record) bool {
		if r.NotBefore.After(now) || ob.locks[r.Key] != nil && r.Key != "" {
			return false
		}
		if r.OccurredAt.IsZero() {
			r.OccurredAt = r.CreatedAt
		}
		r.NotBefore, r.CreatedAt, r.Seq = time.Time{}, now, ob.draw()
		ob.log = append(ob.log, r)
		return true
	})
}
