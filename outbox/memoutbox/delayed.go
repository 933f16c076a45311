package memoutbox

import (
	"cmp"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
)

// byDue orders messages that are not due.
func byDue(a, b outbox.Record) int {
	return cmp.Or(a.NotBefore.Compare(b.NotBefore), cmp.Compare(a.Seq, b.Seq))
}

// draw returns the next number of the log. The caller holds ob.mu.
func (ob *Outbox) draw() int64 {
	ob.seq++
	return ob.seq
}

// promote moves messages whose time has come into the log, in the order of their
// times, as a transaction of its own would. The messages of a key that an open
// transaction holds stay, since that one's numbers are drawn already. It is called
// whenever somebody looks; a relay does so by polling. The caller holds ob.mu.
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
