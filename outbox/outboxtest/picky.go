package outboxtest

import (
	"context"
	"slices"
	"sync"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.Sink = (*PickySink)(nil)

// PickySink delivers to a Broker whatever it does not refuse. Within a call it
// stops a topic and key at its first failure. It is safe for concurrent use.
type PickySink struct {
	broker *Broker

	mu     sync.Mutex
	refuse func(r *outbox.Record) error
	calls  int
}

// Picky returns a new sink that delivers to b the records for which refuse
// returns nil. Its error is the record's Result; a kind is given by
// outbox.Failed.
func (b *Broker) Picky(refuse func(r *outbox.Record) error) *PickySink {
	return &PickySink{broker: b, refuse: refuse}
}

// Refuse replaces what is refused.
func (s *PickySink) Refuse(refuse func(r *outbox.Record) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

// Calls returns the number of calls of Send that have begun.
func (s *PickySink) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Send implements driver.Sink.
func (s *PickySink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
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

// refuses turns the records with these names away.
func refuses(kind outbox.FailureKind, names ...string) func(r *outbox.Record) error {
	return func(r *outbox.Record) error {
		if slices.Contains(names, string(r.Payload)) {
			return outbox.Failed(kind, ErrInjected).Err
		}
		return nil
	}
}

// away refuses the records of a topic, and of every one where it is empty, as if
// it were out.
func away(topic string) func(r *outbox.Record) error {
	return func(r *outbox.Record) error {
		if topic == "" || r.Topic == topic {
			return outbox.Failed(outbox.FailureOutage, ErrInjected).Err
		}
		return nil
	}
}
