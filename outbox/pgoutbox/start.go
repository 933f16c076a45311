package pgoutbox

import (
	"errors"
	"time"

	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// Start is where a new group begins to read. The zero value states nothing, which is an
// error for every new group but "default", since a wrong guess would repeat the history or
// leave it out.
// See design 8.2.
type Start struct {
	stated bool
	at     pgwindow.Begin
	time   time.Time
}

// StartOldest begins at the oldest message that is retained.
func StartOldest() Start {
	return Start{stated: true, at: pgwindow.BeginOldest}
}

// StartNow begins with the messages that are committed from the moment on when the
// first relay of the group starts. No message is left out whose transaction was
// still open then.
func StartNow() Start {
	return Start{stated: true, at: pgwindow.BeginNow}
}

// StartAt begins at the first message that was enqueued at t or later by the clock
// of the database; with StartNow, if there is none. Messages whose transaction was
// still open when the first relay of the group started are read whenever they were
// enqueued.
func StartAt(t time.Time) Start {
	return Start{stated: true, at: pgwindow.BeginAt, time: t}
}

// errStartUnstated is the error of a new group whose start is not stated.
var errStartUnstated = errors.New("leat: a new group must say where it starts: SourceConfig.Start is StartOldest(), StartNow() or StartAt(t)")

// orDefault is StartOldest for the group that everybody begins with.
func (s Start) orDefault(group string) Start {
	if !s.stated && group == defaultGroup {
		return StartOldest()
	}
	return s
}

// String says where, for operators.
func (s Start) String() string {
	switch {
	case !s.stated:
		return "unstated"
	case s.at == pgwindow.BeginOldest:
		return "oldest"
	case s.at == pgwindow.BeginNow:
		return "now"
	default:
		return "at " + s.time.UTC().Format(time.RFC3339Nano)
	}
}
