package kafkasink

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// errPositionTopic is returned for a record whose topic is that of the positions.
var errPositionTopic = errors.New("leat: topic holds the positions of the relay, nothing else can be sent to it")

// send delivers records and position in one transaction, or nothing. After an error other than a
// *driver.PrefixError the client must not be used any more.
func (l *txLane) send(ctx context.Context, records []outbox.Record, position []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.build(ctx, records, position); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err // the client may have been closed
	}
	if l.sink.client == nil { // learning a larger limit requires a new client
		if err := l.renew(ctx); err != nil {
			return err
		}
	}
	err := l.transact(ctx, l.sink.page.records)
	if refused, ok := errors.AsType[*rejection](err); ok {
		return l.findCulprit(ctx, records, refused)
	}
	if err == nil {
		l.stored = true
	}
	return err
}

// build fills the page with records and the position. It returns a
// *driver.PrefixError for the first record that cannot be sent.
func (l *txLane) build(ctx context.Context, records []outbox.Record, position []byte) error {
	s := l.sink
	s.learn(ctx, s.unknown(records))
	s.partitioner.next()
	s.page.reset(len(records) + 1)
	for i := range records {
		r := &records[i]
		t := s.topics.get(r.Topic)
		switch {
		case !legal(r.Topic):
			return prefixError(i, outbox.FailurePermanent, errTopicName)
		case r.Topic == l.cfg.PositionTopic:
			return prefixError(i, outbox.FailurePermanent, errPositionTopic)
		case t.err != nil:
			return prefixError(i, t.kind, t.err)
		case !s.fit(ctx, t, s.page.add(i, r)):
			return prefixError(i, outbox.FailurePermanent, fmt.Errorf("%w: a batch with record %.200q alone has %d bytes, topic %.200q takes %d",
				errTooLarge, r.ID, batchSize(&s.page.records[i]), r.Topic, t.limit))
		}
	}
	s.page.records = append(s.page.records, l.positionRecord(position))
	mark := &s.page.records[len(records)]
	if limit := s.topics.get(l.cfg.PositionTopic).limit; !fits(mark, limit) {
		return fmt.Errorf("position of %d bytes: %w: topic %q takes %d", len(position), errTooLarge, l.cfg.PositionTopic, limit)
	}
	return nil
}

func prefixError(n int, kind outbox.FailureKind, err error) error {
	return &driver.PrefixError{N: n, Err: outbox.Failed(kind, err).Err}
}

// transact delivers records in a transaction of their own. It returns nil only if the cluster has
// committed it, and a *rejection if the cluster has refused a batch, after which the commit is
// not requested. Nothing is retried: the client's answer after an error does not show what the
// cluster has done.
func (l *txLane) transact(ctx context.Context, records []kgo.Record) error {
	client := l.sink.client
	if err := client.BeginTransaction(); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := failpoint.Inject(ctx, failpoint.RelayTransactionBegun); err != nil {
		return err
	}
	// One failed record is enough: if asked to commit, the cluster would commit the others.
	if failures := l.sink.produce(ctx, records); len(failures) > 0 {
		return l.judge(ctx, records, failures)
	}
	if err := listed(ctx, client, records); err != nil {
		return err
	}
	if err := failpoint.Inject(ctx, failpoint.RelayTransactionFlushed); err != nil {
		return err
	}
	if err := client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return l.sink.conn.explain(fmt.Errorf("commit, the outcome is not known: %w", err))
	}
	return nil
}

// renew replaces the client by a newer producer of the slot, which aborts the open transaction of
// the old one, whose commit was not requested. The caller holds the lease, as for every call of
// SendWith.
func (l *txLane) renew(ctx context.Context) error {
	l.sink.drop()
	if err := l.sink.ready(ctx); err != nil {
		return err
	}
	defer l.sink.guard(ctx)()
	return l.newProducer(ctx)
}
