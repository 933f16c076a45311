package outbox

import (
	"errors"
	"fmt"
)

// Result is the fate of one record that a sink was given. A nil Err means that
// the destination has acknowledged it durably.
type Result struct {
	Err error
}

// FailureKind is what a failed delivery means for the records behind it.
type FailureKind int

const (
	// FailureUnknown may or may not pass: the record is tried again with backoff.
	FailureUnknown FailureKind = iota
	// FailureOutage concerns the whole destination: refused, timed out, not authorised,
	// no leader. The record may be fine.
	FailureOutage
	// FailurePermanent concerns the record and will not pass: too large, not
	// serialisable, a topic name that cannot exist.
	FailurePermanent
	// FailureNotSent means that the sink did not try, since an earlier record of
	// the same lane failed. Sending it would have broken the order.
	FailureNotSent
)

// String returns the kind's name.
func (k FailureKind) String() string {
	switch k {
	case FailureUnknown:
		return "unknown"
	case FailureOutage:
		return "outage"
	case FailurePermanent:
		return "permanent"
	case FailureNotSent:
		return "not_sent"
	default:
		return fmt.Sprintf("FailureKind(%d)", int(k))
	}
}

// DeliveryError is a failed delivery with its kind.
type DeliveryError struct {
	Kind FailureKind
	Err  error
}

// Error returns the kind and the cause.
func (e *DeliveryError) Error() string {
	return fmt.Sprintf("leat: delivery failed (%s): %v", e.Kind, e.Err)
}

// Unwrap returns the cause.
func (e *DeliveryError) Unwrap() error {
	return e.Err
}

// ErrTopicUnavailable is wrapped by the cause of a FailureOutage of one topic: the
// destination has answered that it takes no records of the topic, because it has no such
// topic or because the relay may not write to it. Other topics may work, so a relay sets
// the topic's records aside at once, however many such topics there are. It is not for
// destinations that do not answer.
var ErrTopicUnavailable = errors.New("leat: topic is not available")

// ErrNotSent is the cause of every FailureNotSent.
var ErrNotSent = errors.New("leat: not sent, an earlier record failed")

// Failed returns the Result of a delivery that failed with err.
func Failed(kind FailureKind, err error) Result {
	return Result{Err: &DeliveryError{Kind: kind, Err: err}}
}

// NotSent returns the Result of a record that was held back.
func NotSent() Result {
	return Failed(FailureNotSent, ErrNotSent)
}

// KindOf returns the kind of err: that of the *DeliveryError it wraps, else
// FailureUnknown.
func KindOf(err error) FailureKind {
	if d, ok := errors.AsType[*DeliveryError](err); ok {
		return d.Kind
	}
	return FailureUnknown
}
