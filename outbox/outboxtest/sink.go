package outboxtest

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.Sink = (*RecordingSink)(nil)

// ErrInjected is the cause of a failure that a Fault asked for without naming
// one.
var ErrInjected = errors.New("leat: injected fault")

// Everything as Fault.After delivers the whole call.
const Everything = math.MaxInt

// Fault is what goes wrong in one call of RecordingSink.Send. In order: the
// first After records are delivered; then the call stalls, if it is to; then
// the records from After on fail.
type Fault struct {
	// After is the number of records that are delivered and acknowledged.
	// Everything, or any number not below that of the call, makes no record fail.
	After int

	// AckLost delivers the records from After on as well, and still reports them
	// as failed.
	AckLost bool

	// Stall holds the call up, after the first After records, until it is closed
	// or the context of the call has ended. In the latter case nothing more is
	// delivered, and the records from After on fail as an outage with the error
	// of the context. Nil does not stall.
	Stall <-chan struct{}

	// Kind and Err classify the failure. Err defaults to ErrInjected.
	Kind outbox.FailureKind
	Err  error
}

// Pass is a Fault that lets one call of Send succeed.
func Pass() Fault {
	return Fault{After: Everything}
}

// RecordingSink delivers to a Broker and fails as scripted. Within a call it
// stops at the first failure, whatever the key. It is safe for concurrent use.
type RecordingSink struct {
	broker *Broker

	mu     sync.Mutex
	script []Fault
	calls  int
	called chan struct{} // closed and replaced by each call
}

// Sink returns a new sink that delivers to b. Each fault of script is for one
// call of Send; calls after them succeed.
func (b *Broker) Sink(script ...Fault) *RecordingSink {
	return &RecordingSink{broker: b, script: script, called: make(chan struct{})}
}

// Script appends faults for the calls to come.
func (s *RecordingSink) Script(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, faults...)
}

// Calls returns the number of calls of Send that have begun.
func (s *RecordingSink) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// AwaitCalls returns nil once n calls of Send have begun, or the error of ctx.
func (s *RecordingSink) AwaitCalls(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		calls, called := s.calls, s.called
		s.mu.Unlock()
		if calls >= n {
			return nil
		}
		select {
		case <-called:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Send implements driver.Sink.
func (s *RecordingSink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	f := s.next()
	results := make([]outbox.Result, len(records))
	good := min(f.After, len(records))
	s.broker.deliver(records[:good])
	if err := stall(ctx, f.Stall); err != nil {
		f.Kind, f.Err = outbox.FailureOutage, err
	} else if f.AckLost {
		s.broker.deliver(records[good:])
	}
	for i := good; i < len(records); i++ {
		if i == good || f.AckLost {
			results[i] = outbox.Failed(f.Kind, f.Err)
		} else {
			results[i] = outbox.NotSent()
		}
	}
	return results
}

// next takes the next fault from the script and counts the call.
func (s *RecordingSink) next() Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	close(s.called)
	s.called = make(chan struct{})
	if len(s.script) == 0 {
		return Pass()
	}
	f := s.script[0]
	s.script = s.script[1:]
	if f.Err == nil {
		f.Err = ErrInjected
	}
	return f
}

func stall(ctx context.Context, until <-chan struct{}) error {
	if until == nil {
		return nil
	}
	select {
	case <-until:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
