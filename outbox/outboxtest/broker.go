package outboxtest

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Broker is a destination in memory: a log of everything that was delivered to it, including
// duplicates. Any number of sinks may deliver to one Broker. It is safe for concurrent use.
type Broker struct {
	mu      sync.Mutex
	log     []outbox.Record
	changed chan struct{} // closed and replaced by each delivery
}

// NewBroker returns a Broker with an empty log.
func NewBroker() *Broker {
	return &Broker{changed: make(chan struct{})}
}

// Log returns the records in the order in which they were delivered. They are copies and share
// nothing with those passed to the sink.
func (b *Broker) Log() []outbox.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.log)
}

// Await returns the log once it satisfies enough, or the log as it is and the
// error of ctx. enough is called with each state of the log, under the lock.
func (b *Broker) Await(ctx context.Context, enough func(log []outbox.Record) bool) ([]outbox.Record, error) {
	for {
		b.mu.Lock()
		log, changed := slices.Clone(b.log), b.changed
		done := enough(b.log)
		b.mu.Unlock()
		if done {
			return log, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return log, ctx.Err()
		}
	}
}

// AwaitDistinct is Await for n different records.
func (b *Broker) AwaitDistinct(ctx context.Context, n int) ([]outbox.Record, error) {
	return b.Await(ctx, func(log []outbox.Record) bool {
		if len(log) < n {
			return false
		}
		seqs := make(map[int64]struct{}, n)
		for i := range log {
			seqs[log[i].Seq] = struct{}{}
		}
		return len(seqs) >= n
	})
}

func (b *Broker) deliver(records []outbox.Record) {
	if len(records) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range records {
		r.Payload = slices.Clone(r.Payload)
		r.Headers = maps.Clone(r.Headers)
		b.log = append(b.log, r)
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

var _ driver.Sink = (*recordingSink)(nil)

// errInjected is the cause of an injected failure whose fault does not set Err.
var errInjected = errors.New("leat: injected fault")

// everything is the value of fault.After that delivers the whole call.
const everything = math.MaxInt

// fault is a failure injected into one call of recordingSink.Send. In this order: the first After
// records are delivered, the call stalls if Stall is set, and the records from After on fail.
type fault struct {
	// After is the number of records that are delivered and acknowledged. With everything, or any
	// number not below that of the call, no record fails.
	After int

	// AckLost delivers the records from After on as well, but still reports them as failed.
	AckLost bool

	// Stall delays the call, after the first After records, until it is closed or the context of
	// the call has ended. In the latter case nothing more is delivered, and the records from
	// After on fail as an outage with the error of the context. Nil does not stall.
	Stall <-chan struct{}

	// Kind and Err classify the failure. Err defaults to errInjected.
	Kind outbox.FailureKind
	Err  error
}

// pass is a fault that makes one call of Send succeed.
func pass() fault {
	return fault{After: everything}
}

// recordingSink delivers to a Broker and fails as scripted. Within a call it
// stops at the first failure, whatever the key. It is safe for concurrent use.
type recordingSink struct {
	broker *Broker

	mu     sync.Mutex
	script []fault
	calls  int
	called chan struct{} // closed and replaced by each call
}

// Sink returns a new sink that delivers to b.
func (b *Broker) Sink() driver.Sink {
	return b.scripted()
}

// scripted returns a sink that delivers to b. Each fault of script is for one call of Send;
// calls after them succeed.
func (b *Broker) scripted(script ...fault) *recordingSink {
	return &recordingSink{broker: b, script: script, called: make(chan struct{})}
}

// Script appends faults for the calls to come.
func (s *recordingSink) Script(faults ...fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, faults...)
}

// Calls returns the number of calls of Send that have begun.
func (s *recordingSink) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// AwaitCalls returns nil once n calls of Send have begun, or the error of ctx.
func (s *recordingSink) AwaitCalls(ctx context.Context, n int) error {
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
func (s *recordingSink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
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
func (s *recordingSink) next() fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	close(s.called)
	s.called = make(chan struct{})
	if len(s.script) == 0 {
		return pass()
	}
	f := s.script[0]
	s.script = s.script[1:]
	if f.Err == nil {
		f.Err = errInjected
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

var _ driver.Sink = (*pickySink)(nil)

// pickySink delivers every record that it does not refuse to a Broker. Within a call it stops a
// topic and key at its first failure. It is safe for concurrent use.
type pickySink struct {
	broker *Broker

	mu     sync.Mutex
	refuse func(r *outbox.Record) error
	calls  int
}

// picky returns a new sink that delivers to b the records for which refuse returns nil. Its error
// is the record's Result; use outbox.Failed to set a kind.
func (b *Broker) picky(refuse func(r *outbox.Record) error) *pickySink {
	return &pickySink{broker: b, refuse: refuse}
}

// Refuse replaces the function that refuses records.
func (s *pickySink) Refuse(refuse func(r *outbox.Record) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

// Calls returns the number of calls of Send that have begun.
func (s *pickySink) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Send implements driver.Sink.
func (s *pickySink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	s.mu.Lock()
	refuse := s.refuse
	s.calls++
	s.mu.Unlock()
	results := make([]outbox.Result, len(records))
	stopped := make(map[driver.Key]bool)
	for i := range records {
		r := &records[i]
		key := driver.Key{Topic: r.Topic, Key: r.Key}
		err := ctx.Err()
		switch {
		case stopped[key]:
			results[i] = outbox.NotSent()
			continue
		case err != nil:
			err = outbox.Failed(outbox.FailureOutage, err).Err
		default:
			err = refuse(r)
		}
		if err != nil {
			results[i] = outbox.Result{Err: err}
			stopped[key] = r.Key != ""
			continue
		}
		s.broker.deliver(records[i : i+1])
	}
	return results
}

// takesAll refuses nothing.
func takesAll(*outbox.Record) error { return nil }

// refuses returns a check that fails the records with these names.
func refuses(kind outbox.FailureKind, names ...string) func(r *outbox.Record) error {
	return func(r *outbox.Record) error {
		if slices.Contains(names, string(r.Payload)) {
			return outbox.Failed(kind, errInjected).Err
		}
		return nil
	}
}

// away returns a check that refuses the records of a topic, as if it were out; of every topic if topic is empty.
func away(topic string) func(r *outbox.Record) error {
	return func(r *outbox.Record) error {
		if topic == "" || r.Topic == topic {
			return outbox.Failed(outbox.FailureOutage, errInjected).Err
		}
		return nil
	}
}
