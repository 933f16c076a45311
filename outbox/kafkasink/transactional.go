package kafkasink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var (
	// errNotFenced is returned by Transactional.SendWith for a slot for which Fence was not
	// called, or not again after a call failed.
	errNotFenced = errors.New("leat: slot is not fenced")

	errNeedsPosition = errors.New("leat: a transactional sink takes records with their position only")
)

// Transactional delivers records and the position behind them to Kafka in one transaction, so
// that readers of committed records (isolation.level read_committed) see every record once,
// despite failures of relays, brokers and the network between them. Give it to relay.New like any
// other sink.
//
// The position of a slot is a record in a compacted topic. A relay that takes over first creates
// its own producer with the slot's transactional id, which ends any transaction that an earlier
// producer left open and fences that producer off. Only then does it read the position. Nothing
// is ever retried within a transaction: after an error the client is closed, and the next Fence
// finds out whether the cluster has committed.
//
// It is safe for concurrent use; calls for one slot wait for each other.
type Transactional struct {
	brokers []string
	cfg     TransactionalConfig

	mu     sync.Mutex // guards what follows
	closed bool
	lanes  map[string]*txLane
}

var _ driver.TransactionalSink = (*Transactional)(nil)

// NewTransactional returns a Transactional that finds its cluster through
// brokers, which are host:port. It does not connect: Check does, or the first
// Fence. The error wraps outbox.ErrInvalidConfig. The caller must Close it, once
// no relay uses it. Two relays of one group need one each: if one of them fences a slot, the
// Transactional would send for the other as well.
func NewTransactional(brokers []string, cfg TransactionalConfig) (*Transactional, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	t := &Transactional{brokers: slices.Clone(brokers), cfg: cfg, lanes: make(map[string]*txLane)}
	trial, err := New(brokers, cfg.Config) // refuses the same options
	if err != nil {
		return nil, err
	}
	return t, trial.Close()
}

// TransactionTimeout returns the configured timeout.
func (t *Transactional) TransactionTimeout() time.Duration {
	return t.cfg.TransactionTimeout
}

// Check connects to the cluster and returns an error if that fails. It fences no relay. It is for
// the start of a program and for health checks.
func (t *Transactional) Check(ctx context.Context) error {
	s, err := New(t.brokers, t.cfg.Config)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // it always returns nil
	return s.Check(ctx)
}

// Send implements driver.Sink and delivers nothing: records without a position would be delivered
// again by the relay that reads the position.
func (t *Transactional) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	for i := range results {
		results[i] = outbox.Failed(outbox.FailureOutage, errNeedsPosition)
	}
	return results
}

// Fence implements driver.TransactionalSink. Call it only under the slot's lease: it cuts off
// every other relay of the slot. On return the cluster has nothing of the slot in progress.
//
// Errors that wrap driver.ErrSourceUnusable need an operator: a position that existed before is
// missing (RemovePositions resolves that), or the topic of positions has the wrong cleanup.policy
// or another writer.
func (t *Transactional) Fence(ctx context.Context, slot string) (position []byte, err error) {
	l, err := t.lane(slot)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if position, err = l.fence(ctx); err != nil {
		l.drop()
		return nil, fmt.Errorf("leat: fence slot %q: %w", slot, l.needsID(err))
	}
	return position, nil
}

// SendWith implements driver.TransactionalSink: it begins a transaction, produces records and
// position, reads the cluster's answer to every one of them, and commits. It returns shortly
// after ctx has ended; ctx must have a deadline or be cancelled.
//
// A *driver.PrefixError names a record that Kafka cannot take (outbox.FailurePermanent), whose
// topic it does not know (outbox.FailureOutage), or that the cluster has rejected. The first two
// are recognised before anything is produced; in the last case the transaction is certainly
// aborted. After every other error SendWith fails until the next Fence.
func (t *Transactional) SendWith(ctx context.Context, slot string, records []outbox.Record, position []byte) error {
	l, err := t.lane(slot)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.fenced {
		return fmt.Errorf("%w: %q", errNotFenced, slot)
	}
	defer l.sink.page.release()
	err = l.send(ctx, records, position)
	if _, harmless := errors.AsType[*driver.PrefixError](err); err == nil || harmless {
		return err
	}
	l.drop()
	l.sink.replaced(ctx, slot, len(records), err)
	return fmt.Errorf("leat: transaction of slot %q: %w", slot, l.needsID(err))
}

// Close waits for running calls and closes all connections. It always returns nil; more calls do
// nothing. An open transaction stays open until the next Fence, or TransactionTimeout.
func (t *Transactional) Close() error {
	t.mu.Lock()
	t.closed = true
	lanes := t.lanes
	t.lanes = nil
	t.mu.Unlock()
	for _, l := range lanes {
		l.close()
	}
	return nil
}

// lane returns the lane of slot, and creates it if there is none.
func (t *Transactional) lane(slot string) (*txLane, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errClosed
	}
	if l, ok := t.lanes[slot]; ok {
		return l, nil
	}
	l, err := newTxLane(t, slot)
	if err != nil {
		return nil, err
	}
	t.lanes[slot] = l
	return l, nil
}
