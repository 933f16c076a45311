package pgoutbox

import (
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
)

// putDue sets the times before which messages must not be sent, if there are any.
func (c *columns) putDue(msgs []outbox.Message) {
	if !slices.ContainsFunc(msgs, delayed) {
		return
	}
	c.due = make([]*time.Time, len(msgs))
	for i := range msgs {
		if delayed(msgs[i]) {
			c.due[i] = &msgs[i].NotBefore
		}
	}
}

func delayed(m outbox.Message) bool { return !m.NotBefore.IsZero() }
