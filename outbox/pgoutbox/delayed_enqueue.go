package pgoutbox

import (
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
)

// putDue notes the times before which messages must not be sent, if there are any.
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

// refuseDelayed returns an error for the first message with a NotBefore.
func refuseDelayed(msgs []outbox.Message) error {
	at := slices.IndexFunc(msgs, delayed)
	if at < 0 {
		return nil
	}
	return &outbox.InvalidMessageError{
		Index: at, Field: "NotBefore", Value: msgs[at].NotBefore.Format(time.RFC3339Nano),
		Reason: "cannot be delayed by an INSERT that another library runs: use Enqueue",
	}
}
