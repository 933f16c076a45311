package pgoutbox

import (
	"errors"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// errStartUnstated is the error of a new group whose start is not stated.
var errStartUnstated = errors.New("leat: a new group must say where it starts: at the oldest message, now, or at a time")

// startOf is the start of a group. For the default group it is the oldest message.
func (c SourceConfig) startOf() driver.Start {
	if !c.Start.IsStated() && c.Group == defaultGroup {
		return driver.Start{Oldest: true}
	}
	return c.Start
}

// beginOf is s in the terms of the statements.
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
