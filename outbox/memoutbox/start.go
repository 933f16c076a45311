package memoutbox

import (
	"slices"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// outset returns the length of the log at which a new group begins. The caller holds
// ob.mu.
func (ob *Outbox) outset(start driver.Start) int {
	switch {
	case start.Now:
		return len(ob.log)
	case start.At.IsZero():
		return 0
	}
	first := slices.IndexFunc(ob.log, func(r outbox.Record) bool { return !r.CreatedAt.Before(start.At) })
	if first < 0 {
		return len(ob.log)
	}
	return first
}
