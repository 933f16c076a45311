package outboxtest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var (
	_ driver.TransactionalSink = (*exactSink)(nil)

	errFenced = errors.New("leat: another sink has fenced this one")
)

// exactBroker is a Broker that keeps a position of each slot together with what was
// delivered.
type exactBroker struct {
	*Broker

	mu        sync.Mutex
	positions map[string][]byte
	holders   map[string]*exactSink // who has fenced the slot last
}

func newExactBroker() *exactBroker {
	return &exactBroker{Broker: NewBroker(), positions: make(map[string][]byte), holders: make(map[string]*exactSink)}
}

// exactSink delivers to an exactBroker in transactions. answer says of the calls that
// deliver records, from 1, whether the transaction commits and which error is returned.
type exactSink struct {
	broker *exactBroker
	answer func(call int) (commit bool, err error)
	calls  int // guarded by broker.mu
}

// answers returns a sink that commits everything, unless answer says else.
func (b *exactBroker) answers(answer func(call int) (commit bool, err error)) *exactSink {
	return &exactSink{broker: b, answer: answer}
}

func alwaysCommits(int) (commit bool, err error) { return true, nil }

// Send implements driver.Sink. A relay calls SendWith instead.
func (s *exactSink) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	for i := range results {
		results[i] = outbox.Failed(outbox.FailurePermanent, errors.New("leat: sent without a position"))
	}
	return results
}

// Fence implements driver.TransactionalSink.
func (s *exactSink) Fence(_ context.Context, slot string) ([]byte, error) {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	s.broker.holders[slot] = s
	return slices.Clone(s.broker.positions[slot]), nil
}

// SendWith implements driver.TransactionalSink.
func (s *exactSink) SendWith(_ context.Context, slot string, records []outbox.Record, position []byte) error {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	if s.broker.holders[slot] != s {
		return errFenced
	}
	commit, err := true, error(nil)
	if len(records) > 0 {
		s.calls++
		commit, err = s.answer(s.calls)
	}
	if commit {
		s.broker.deliver(records)
		s.broker.positions[slot] = slices.Clone(position)
	}
	if err != nil {
		delete(s.broker.holders, slot)
	}
	return err
}
