package driver

import (
	"time"

	"github.com/leat-go/leat/outbox"
)

// Start is where a new group begins to read: one of its fields is set. The zero value is an error
// for every new group except "default", since a wrong guess would repeat the history or leave it
// out.
type Start struct {
	// Oldest begins at the oldest message that is retained.
	Oldest bool

	// Now begins with the messages that are committed after the first relay of the group has
	// started. Messages whose transaction was still open then are included.
	Now bool

	// At begins at the first message that was enqueued at that time or later, by the clock of the
	// database; if there is none, it acts like Now. Messages whose transaction was still open
	// when the first relay of the group started are read whenever they were enqueued.
	At time.Time
}

// IsStated reports whether s says where to begin. It is false for the zero value.
func (s Start) IsStated() bool { return s.Oldest || s.Now || !s.At.IsZero() }

// Check returns an error that wraps outbox.ErrInvalidConfig if more than one field is set.
func (s Start) Check() error {
	if s.Oldest && s.Now || (s.Oldest || s.Now) && !s.At.IsZero() {
		return outbox.ConfigError("Start", s, "must be one of Oldest, Now and At")
	}
	return nil
}

// String returns where s begins, for operators.
func (s Start) String() string {
	switch {
	case s.Oldest:
		return "oldest"
	case s.Now:
		return "now"
	case s.At.IsZero():
		return "unstated"
	default:
		return "at " + s.At.UTC().Format(time.RFC3339Nano)
	}
}
