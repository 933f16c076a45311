package kafkasink_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// naive is a Transactional that does one of the things that must not be done.
type naive struct {
	*kafkasink.Transactional

	retryEnd       bool // after an error of EndTransaction it aborts and sends again
	ignorePromises bool // it commits although a record has failed
}

// SendWith delivers as one would who has not thought about it.
func (n *naive) SendWith(ctx context.Context, slot string, records []outbox.Record, position []byte) error {
	for {
		client := kafkasink.LaneClient(n.Transactional, slot)
		if client == nil {
			return kafkasink.ErrNotFenced
		}
		err := n.transact(ctx, client, kafkasink.Produced(n.Transactional, slot, records, position))
		if err == nil || !n.retryEnd || ctx.Err() != nil {
			return err
		}
		if err := client.EndTransaction(ctx, kgo.TryAbort); err != nil {
			return err
		}
	}
}

func (n *naive) transact(ctx context.Context, client *kgo.Client, page []kgo.Record) error {
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	failed := make([]error, len(page))
	for i := range page {
		client.Produce(context.WithoutCancel(ctx), &page[i], func(_ *kgo.Record, err error) { failed[i] = err })
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	if i := slices.IndexFunc(failed, func(err error) bool { return err != nil }); i >= 0 && !n.ignorePromises {
		return errors.Join(failed...)
	}
	return client.EndTransaction(ctx, kgo.TryCommit)
}

// TestR12_RetryAfterEndTransactionRepeats is a control: aborting after a commit
// whose answer was lost returns nil, and repeats what was committed.
func TestR12_RetryAfterEndTransactionRepeats(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	cut := &severer{every: 3}
	s.write(300)
	stop := s.start(&naive{Transactional: s.sink(cut.opts()...), retryEnd: true})
	s.awaitSettled(300)
	stop()
	require.Positive(t, cut.cut.Load())
	require.Positive(t, s.audit().twice)
}

// TestR12_IgnoredPromiseLoses is a control: a commit after a record has failed
// returns nil, and the record is missing.
//
//leat:level 2
func TestR12_IgnoredPromiseLoses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.limit(hugeBytes / 2)
	s.write(30)
	s.writeHuge()
	s.write(30)
	stop := s.start(&naive{Transactional: s.sink(), ignorePromises: true})
	s.awaitSettled(61)
	stop()
	require.Positive(t, s.audit().lost)
}
