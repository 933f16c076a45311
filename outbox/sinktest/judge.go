package sinktest

import (
	"errors"
	"fmt"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var (
	errBehindFailure = errors.New("leat: a record behind a failed one of its key was not held back")
	errNoReason      = errors.New("leat: records were not sent, and no result says why")
	errKind          = errors.New("leat: wrong kind of failure")
)

// judge compares results with what driver.Sink promises for every call.
func judge(records []outbox.Record, results []outbox.Result) error {
	if len(results) != len(records) {
		return fmt.Errorf("leat: sink returned %d results for %d records", len(results), len(records))
	}
	failed := make(map[driver.Key]int)
	unsent, reasons := 0, 0
	for i := range results {
		r := &records[i]
		key := driver.Key{Topic: r.Topic, Key: r.Key}
		first, behind := failed[key]
		behind = behind && r.Key != ""
		err := results[i].Err
		if err == nil {
			if behind {
				return fmt.Errorf("%w: record %d is acknowledged, record %d has failed", errBehindFailure, i, first)
			}
			continue
		}
		switch kind := outbox.KindOf(err); kind {
		case outbox.FailureNotSent:
			unsent++
		case outbox.FailureUnknown, outbox.FailureOutage, outbox.FailurePermanent:
			if behind {
				return fmt.Errorf("%w: record %d has kind %s, record %d has failed: %w", errBehindFailure, i, kind, first, err)
			}
			reasons++
		default:
			return fmt.Errorf("%w: record %d: %s: %w", errKind, i, kind, err)
		}
		if _, again := failed[key]; !again {
			failed[key] = i
		}
	}
	if unsent > 0 && reasons == 0 {
		return errNoReason
	}
	return nil
}

// expectKinds fails if a result has failed with a kind other than these, or not being sent; and
// if none has failed.
func expectKinds(results []outbox.Result, kinds ...outbox.FailureKind) {
	failures := 0
	for i := range results {
		if results[i].Err == nil {
			continue
		}
		failures++
		kind := outbox.KindOf(results[i].Err)
		ok := kind == outbox.FailureNotSent
		for _, k := range kinds {
			ok = ok || kind == k
		}
		if !ok {
			fail.With("%w: record %d has %s, want one of %v: %w", errKind, i, kind, kinds, results[i].Err)
		}
	}
	if failures == 0 {
		fail.With("nothing has failed")
	}
}

// unsent returns the records that were not acknowledged.
func unsent(records []outbox.Record, results []outbox.Result) []outbox.Record {
	var rest []outbox.Record
	for i := range results {
		if results[i].Err != nil {
			rest = append(rest, records[i])
		}
	}
	return rest
}
