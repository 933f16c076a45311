package memoutbox

import (
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
)

// Start is where a new group begins to read. The zero value is StartOldest.
type Start struct {
	now bool
	at  time.Time
}

// StartOldest begins at the first message.
func StartOldest() Start { return Start{} }

// StartNow begins with the messages that are committed after the first session of the
// group has begun.
func StartNow() Start { return Start{now: true} }

// StartAt begins at the first committed message that was enqueued at t or later, by
// time.Now; with StartNow, if there is none.
func StartAt(t time.Time) Start { return Start{at: t} }

// outset returns the length of the log at which a new group begins. The caller holds
// ob.mu.
func (ob *Outbox) outset(start Start) int {
	switch {
	case start.now:
		return len(ob.log)
	case start.at.IsZero():
		return 0
	}
	first := slices.IndexFunc(ob.log, func(r outbox.Record) bool { return !r.CreatedAt.Before(start.at) })
	if first < 0 {
		return len(ob.log)
	}
	return first
}
