// Package records is the state machine of a dedupe record in Go, for stores that load, change and
// store it in one atomic step.
package records

import (
	"time"

	"github.com/leat-go/leat/dedupe"
)

// Record is one message: done, released, or held by Token until LeaseUntil. The zero Record
// stands for an unknown message.
type Record struct {
	// Known is set if the record exists.
	Known       bool
	Token       string
	Attempt     int
	Fingerprint string
	Done        bool
	Released    bool
	LeaseUntil  time.Time
	// Lease is the length of the lease as it was granted, 0 if unknown.
	Lease time.Duration
	// ForgetAt is when the record expires.
	ForgetAt time.Time
	Result   []byte
}

// Expire resets an expired record to the zero Record.
func (r *Record) Expire(now time.Time) {
	if r.Known && !now.Before(r.ForgetAt) {
		*r = Record{}
	}
}

// Claim implements the method of dedupe.Store. It reports whether the record has changed.
func (r *Record) Claim(req dedupe.Request, now time.Time, ttl time.Duration) (c dedupe.Claim, changed bool) {
	r.Expire(now)
	if !r.Known {
		*r = Record{Known: true, Fingerprint: req.Fingerprint, Released: true}
	}
	held := !r.Done && !r.Released && now.Before(r.LeaseUntil)
	switch {
	case r.Fingerprint != "" && req.Fingerprint != "" && r.Fingerprint != req.Fingerprint:
		return dedupe.Claim{Status: dedupe.Mismatch}, false
	case r.Done:
		return dedupe.Claim{Status: dedupe.Done, Attempt: r.Attempt, Result: r.Result}, false
	case held && r.Token == req.Token:
		return dedupe.Claim{Status: dedupe.Claimed, Attempt: r.Attempt}, false
	case held && r.Lease > 0 && r.LeaseUntil.Sub(now) > r.Lease:
		// The lease was granted by a clock that was ahead. The remaining time is unknown, so it
		// begins again.
		r.LeaseUntil = now.Add(r.Lease)
		return dedupe.Claim{Status: dedupe.Busy, Attempt: r.Attempt, Remaining: r.Lease}, true
	case held:
		return dedupe.Claim{Status: dedupe.Busy, Attempt: r.Attempt, Remaining: r.LeaseUntil.Sub(now)}, false
	}
	takeover := !r.Released
	r.Token, r.Released = req.Token, false
	r.Attempt++
	r.LeaseUntil, r.Lease, r.ForgetAt = now.Add(req.Lease), req.Lease, now.Add(max(ttl, req.Lease))
	return dedupe.Claim{Status: dedupe.Claimed, Takeover: takeover, Attempt: r.Attempt}, true
}

// Extend implements the method of dedupe.Store. It reports whether token holds the record,
// which then has changed.
func (r *Record) Extend(token string, lease time.Duration, now time.Time, ttl time.Duration) (held bool) {
	r.Expire(now)
	if !r.Known || r.Token != token || r.Done || r.Released {
		return false
	}
	r.LeaseUntil, r.Lease, r.ForgetAt = now.Add(lease), lease, now.Add(max(ttl, lease))
	return true
}

// Complete implements the method of dedupe.Store. It reports whether the record has changed.
func (r *Record) Complete(token string, result []byte, now time.Time, ttl time.Duration) (c dedupe.Completion, changed bool) {
	r.Expire(now)
	c = dedupe.Completed
	switch {
	case !r.Known:
		*r = Record{Known: true, Attempt: 1}
		c = dedupe.Resurrected
	case r.Done && r.Token != token:
		return dedupe.FencedDone, false
	case r.Done:
		return dedupe.Completed, false
	case r.Released:
		c = dedupe.Late
	case r.Token != token:
		return dedupe.Fenced, false
	}
	r.Token, r.Done, r.Released = token, true, false
	r.Result, r.ForgetAt = result, now.Add(ttl)
	return c, true
}

// Release implements the method of dedupe.Store. It reports whether the record has changed.
func (r *Record) Release(token string, now time.Time, ttl time.Duration) (changed bool) {
	r.Expire(now)
	if !r.Known || r.Token != token || r.Done {
		return false
	}
	r.Released, r.ForgetAt = true, now.Add(ttl)
	return true
}
