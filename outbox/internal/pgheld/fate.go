package pgheld

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/storable"
)

// Fates of records, as the statements spell them.
const (
	Retry     = "retry"
	Wait      = "wait"
	Park      = "park"
	Dead      = "dead"
	Skip      = "skip"
	Delivered = "delivered"
)

// Fate is what becomes of a record.
type Fate struct {
	Name string
	// Attempts are the errors of deliveries that have failed.
	Attempts []Error
	// RetryIn is when to try again, for Retry.
	RetryIn time.Duration
	// Reason is for people.
	Reason string
}

// Error is one failed delivery, as it is stored.
type Error struct {
	At    time.Time `json:"at"`
	Kind  string    `json:"kind"`
	Error string    `json:"error"`
	Epoch int64     `json:"epoch"`
}

// maxErrorBytes bounds the text of one error. What a broker says may hold anything, and
// a record whose error cannot be stored could never be set aside.
const maxErrorBytes = 2000

// fates are fates as parameters.
type fates struct {
	names    []string
	attempts []int32
	errors   []string
	retryIn  []int64
	reasons  []*string
}

func (f *fates) add(one *Fate) error {
	all := make([]Error, len(one.Attempts))
	for i, e := range one.Attempts {
		e.Error = storable.AtMost(e.Error, maxErrorBytes)
		e.At = e.At.UTC()
		all[i] = e
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("leat: errors of a held record: %w", err)
	}
	f.names = append(f.names, one.Name)
	f.attempts = append(f.attempts, int32(len(all))) //nolint:gosec // as many as a policy allows
	f.errors = append(f.errors, string(raw))
	f.retryIn = append(f.retryIn, one.RetryIn.Microseconds())
	var reason *string
	if one.Reason != "" {
		text := storable.AtMost(one.Reason, maxErrorBytes)
		reason = &text
	}
	f.reasons = append(f.reasons, reason)
	return nil
}
