package kafkasink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox/driver"
)

// stablePause is the wait between two checks whether the cluster has ended all transactions of a
// partition.
const stablePause = 20 * time.Millisecond

// errNoProducerID is returned if the cluster gave none: it does not support transactions.
var errNoProducerID = errors.New("leat: kafka gives no producer id, it is too old for transactions")

// txLane delivers the records of one slot. Its Sink makes the clients, which carry the
// slot's transactional id, and knows topics and sizes.
// See design 7.1.
type txLane struct {
	cfg  *TransactionalConfig
	slot string
	// the slot's own partition in the topic of positions.
	partition int32

	mu     sync.Mutex // locked by every method; guards what follows
	sink   *Sink
	fenced bool // the client is the newest producer of the slot, as far as we know
	stored bool // there is a position in the topic
}

func newTxLane(t *Transactional, slot string) (*txLane, error) {
	partition, err := slotNumber(slot)
	if err != nil {
		return nil, err
	}
	s, err := New(t.brokers, t.cfg.Config)
	if err != nil {
		return nil, err
	}
	s.drop()
	s.partitioner.fix(t.cfg.PositionTopic, partition)
	s.transaction = []kgo.Opt{
		kgo.TransactionalID(t.cfg.TransactionalIDPrefix + slot),
		kgo.TransactionTimeout(t.cfg.TransactionTimeout),
	}
	return &txLane{cfg: &t.cfg, slot: slot, partition: partition, sink: s}, nil
}

func (l *txLane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fenced = false
	_ = l.sink.Close() // it always returns nil
}

// drop closes the client. A transaction that it has begun stays open until the next fence.
func (l *txLane) drop() {
	l.fenced = false
	l.sink.drop()
}

// fence makes a new producer and returns the position that the ones before it have
// committed, nil if there was none.
func (l *txLane) fence(ctx context.Context) ([]byte, error) {
	l.drop()
	if err := l.sink.ready(ctx); err != nil {
		return nil, err
	}
	defer l.sink.guard(ctx)()
	if err := l.ensureTopic(ctx); err != nil {
		return nil, l.sink.conn.explain(err)
	}
	if err := l.newProducer(ctx); err != nil {
		return nil, err
	}
	if err := failpoint.Inject(ctx, failpoint.RelayFenced); err != nil {
		return nil, err
	}
	position, err := l.restore(ctx)
	if err != nil {
		return nil, err
	}
	l.fenced = true
	return position, nil
}

// newProducer requests a producer id. By the time the cluster has answered, it has ended the
// transaction of every earlier producer, by its pending decision or else by aborting it, and it
// refuses everything that they send from then on.
func (l *txLane) newProducer(ctx context.Context) error {
	id, _, err := l.sink.client.ProducerID(ctx)
	if err != nil {
		return l.sink.conn.explain(fmt.Errorf("producer id: %w", err))
	}
	if id < 0 {
		return errNoProducerID
	}
	return nil
}

// restore reads the position, and starts the slot if it has none.
func (l *txLane) restore(ctx context.Context) ([]byte, error) {
	span, err := l.stable(ctx)
	if err != nil {
		return nil, err
	}
	found, err := l.last(ctx, span)
	if err != nil {
		return nil, err
	}
	switch {
	case found != nil && found.initial && l.stored, found == nil && l.stored, found == nil && span.start > 0:
		return nil, fmt.Errorf("%w: the position of the slot is gone from partition %d of topic %q",
			driver.ErrSourceUnusable, l.partition, l.cfg.PositionTopic)
	case found == nil:
		return nil, l.initialise(ctx)
	case found.initial:
		return nil, nil
	default:
		l.stored = true
		return found.position, nil
	}
}

// initialise stores that the slot has started, so that an empty topic can be distinguished from
// one that was emptied.
func (l *txLane) initialise(ctx context.Context) error {
	if err := l.transact(ctx, []kgo.Record{l.initialRecord()}); err != nil {
		return fmt.Errorf("start the slot: %w", err)
	}
	span, err := l.stable(ctx)
	if err != nil {
		return err
	}
	_, err = l.last(ctx, span) // another slot may have taken the same partition
	return err
}

// offsets are the bounds of a partition.
type offsets struct {
	start, end int64
}

// stable returns the bounds of the slot's partition once no transaction is open in it.
func (l *txLane) stable(ctx context.Context) (offsets, error) {
	admin := kadm.NewClient(l.sink.client)
	pause := time.NewTicker(stablePause)
	defer pause.Stop()
	for {
		end, err := l.offset(ctx, admin.ListEndOffsets)
		if err != nil {
			return offsets{}, err
		}
		// Read after the end: everything below the end is stable by then.
		stable, err := l.offset(ctx, admin.ListCommittedOffsets)
		if err != nil {
			return offsets{}, err
		}
		if stable >= end {
			start, err := l.offset(ctx, admin.ListStartOffsets)
			return offsets{start: start, end: stable}, err
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return offsets{}, fmt.Errorf("a transaction is open in partition %d of topic %q: %w",
				l.partition, l.cfg.PositionTopic, context.Cause(ctx))
		}
	}
}

func (l *txLane) offset(ctx context.Context, list func(context.Context, ...string) (kadm.ListedOffsets, error)) (int64, error) {
	listed, err := list(ctx, l.cfg.PositionTopic)
	if err != nil {
		return 0, l.sink.conn.explain(fmt.Errorf("offsets of topic %q: %w", l.cfg.PositionTopic, err))
	}
	at, ok := listed.Lookup(l.cfg.PositionTopic, l.partition)
	if !ok {
		return 0, fmt.Errorf("offsets of topic %q: %w", l.cfg.PositionTopic, errNoAnswer)
	}
	if at.Err != nil {
		return 0, fmt.Errorf("offsets of topic %q: %w", l.cfg.PositionTopic, needs(at.Err, "READ", l.cfg.PositionTopic))
	}
	return at.Offset, nil
}
