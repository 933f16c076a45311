package pgoutbox

import (
	"errors"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// errStartUnstated is the error of a new group whose start is not stated.
var errStartUnstated = errors.New("leat: a new group must say where it starts: at the oldest message, now, or at a time")

// startOf is the start of a group, which is the oldest message for the group that everybody
// begins with.
func (c SourceConfig) startOf() driver.Start {
	if !c.Start.IsStated() && c.Group == defaultGroup {
		return driver.Start{Oldest: true}
	}
	return c.Start
}

// beginOf is what the statements call s.
func beginOf(s driver.Start) pgwindow.Begin {
	switch {
	case s.Now:
		return pgwindow.BeginNow
	case !s.At.IsZero():
		return pgwindow.BeginAt
	default:
		return pgwindow.BeginOldest
	}
}
