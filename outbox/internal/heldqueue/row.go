package heldqueue

import (
	"slices"
	"time"

	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// State is the state of a row. Stores may keep the number.
type State uint8

const (
	// Retry is the state of a record that is sent again once its time has come.
	Retry State = iota
	// Wait is the state of a record that follows an earlier one of its key.
	Wait
	// Parked is the state of a record that waits for an operator; all records of its key behind
	// it wait, too.
	Parked
	// Dead is the state of a record that was given up. It is no longer held.
	Dead
)

// String returns the state's name.
func (s State) String() string {
	names := [...]string{"retry", "wait", "parked", "dead"}
	if int(s) >= len(names) {
		return "unknown"
	}
	return names[s]
}

const (
	// maxErrors is how many of a record's errors are kept, the newest: a record with policy Block
	// is tried for ever.
	maxErrors = 100
	// maxTextBytes bounds the text of an error or of a reason.
	maxTextBytes = 2000
)

// Row is the state of a record that was set aside, without the record itself.
type Row struct {
	Seq int64
	ID  string
	// Key is the record's topic and key. Key.Key is empty if the record is unordered.
	Key   driver.Key
	State State
	// Next is when to try again in state Retry, else zero.
	Next time.Time
	// Attempts is the number of deliveries that have failed since the record was held or
	// redriven; 0 in state Dead.
	Attempts int
	// Errors are the newest hundred errors of its deliveries, the oldest first.
	Errors []admin.Failure
	// Reason is the reason why it was parked or given up.
	Reason string
	// Since is when it was set aside first, parked, given up, or redriven from the dead.
	Since time.Time
	// Bytes is the size of its payload, key and headers.
	Bytes int
}

// newRow returns the row of a record that is set aside now, with no fate yet.
func newRow(r *outbox.Record, now time.Time) Row {
	row := Row{Seq: r.Seq, ID: r.ID, Key: keyOf(r), Since: now, Bytes: len(r.Payload) + len(r.Key)}
	for name, value := range r.Headers {
		row.Bytes += len(name) + len(value)
	}
	return row
}

func keyOf(r *outbox.Record) driver.Key {
	return driver.Key{Topic: r.Topic, Key: r.Key}
}

// ordered reports whether the row is in a line.
func (r *Row) ordered() bool {
	return r.Key.Key != ""
}

// fail adds failed deliveries.
func (r *Row) fail(attempts []driver.Attempt, epoch int64) {
	r.Attempts += len(attempts)
	all := slices.Clone(r.Errors)
	for _, a := range attempts {
		all = append(all, admin.Failure{
			At: a.At.Round(0).UTC(), Kind: a.Kind.String(), Error: storable.AtMost(a.Error, maxTextBytes), Epoch: epoch,
		})
	}
	r.Errors = all[max(0, len(all)-maxErrors):]
}

// become gives the record a fate, and reports whether its row stays. A record without a key has
// nothing to wait for. An empty reason keeps the previous one, unless the record is given up.
func (r *Row) become(fate driver.Fate, retryIn time.Duration, reason string, now time.Time) (stays bool) {
	reason = storable.AtMost(reason, maxTextBytes)
	if reason != "" || fate == driver.FateDead || fate == driver.FateSkip {
		r.Reason = reason
	}
	switch {
	case fate == driver.FateRetry, fate == driver.FateWait && !r.ordered():
		r.State, r.Next = Retry, now.Add(retryIn)
	case fate == driver.FateWait:
		r.State, r.Next = Wait, time.Time{}
	case fate == driver.FatePark:
		r.State, r.Next, r.Since = Parked, time.Time{}, now
	case fate == driver.FateDead:
		r.State, r.Next, r.Attempts, r.Since = Dead, time.Time{}, 0, now
	default:
		return false
	}
	return true
}

// redrive makes a parked or dead record due.
func (r *Row) redrive(now time.Time) {
	if r.State == Dead {
		r.Since = now
	}
	r.State, r.Next, r.Attempts, r.Reason = Retry, now, 0, ""
}
