package twotier

import (
	"time"

	"github.com/leat-go/leat/inbox"
)

// NewMemory returns what a process remembers messages in, for tests.
var NewMemory = newMemory

// Len returns the number of messages that are remembered, expired ones included
// that nobody has come across yet.
func (m *memory) Len() int { return m.used.Len() }

// Rests returns until when the caches of a processor that New has made are left alone, by clocks.Passed.
func Rests(r inbox.Runner) (until []time.Duration) {
	for _, t := range r.(*processor).tiers { //nolint:forcetypeassert // New's
		until = append(until, time.Duration(t.until.Load()))
	}
	return until
}
