package relay

import (
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// maxErrorBytes bounds the error text of an attempt.
const maxErrorBytes = 2000

// attempt returns the note about a failed delivery.
func attempt(now time.Time, err error) driver.Attempt {
	return driver.Attempt{At: now, Kind: outbox.KindOf(err), Error: storable.AtMost(err.Error(), maxErrorBytes)}
}

// isAttempt reports whether a failure of kind counts as an attempt of its record. An
// outage does not (invariant O8). Neither does a failure for an unknown reason while the
// topic is out, unless the record was the probe.
func isAttempt(kind outbox.FailureKind, out, probe bool) bool {
	switch kind {
	case outbox.FailureNotSent, outbox.FailureOutage:
		return false
	case outbox.FailureUnknown:
		return probe || !out
	default:
		return true
	}
}

// verdict returns what happens to a record after n attempts. kind is that of the last failure.
// reason is for operators, and empty for FateRetry.
func (p Policy) verdict(kind outbox.FailureKind, n int) (fate driver.Fate, reason string) {
	if p.Action == Block || kind != outbox.FailurePermanent && n < p.Attempts {
		return driver.FateRetry, ""
	}
	if kind == outbox.FailurePermanent {
		reason = "the sink says that it can never be delivered"
	} else {
		reason = fmt.Sprintf("delivery has failed %d times", n)
	}
	switch p.Action {
	case DeadLetter:
		return driver.FateDead, reason
	case Skip:
		return driver.FateSkip, reason
	default:
		return driver.FatePark, reason
	}
}

// retryIn returns the wait after the n-th attempt of a record, from 1.
func (c Config) retryIn(n int) time.Duration {
	wait := c.BackoffMin
	for range n - 1 {
		if wait *= 2; wait >= c.BackoffMax {
			return jitter.Below(c.BackoffMax, 0.5)
		}
	}
	return jitter.Below(wait, 0.5)
}

// lastError returns the text of the last of attempts.
func lastError(attempts []driver.Attempt) string {
	if len(attempts) == 0 {
		return ""
	}
	return attempts[len(attempts)-1].Error
}
