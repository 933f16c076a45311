package meminbox

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/outbox"
)

// brokenBatches are batches whose result is that of no sequence of their messages.
func brokenBatches() []negative {
	return []negative{
		{"a batch is claimed one by one", func(c *control) {
			c.store = func(s *controlStore) driver.Store { return claimsOne{s} }
		}, map[string]string{
			"I13_FreshMessagesShareATransaction": "message 0 is b, want a",
		}},
		{"nobody knows who ended the process", func(c *control) {
			c.store = func(s *controlStore) driver.Store { return neverAlone{s} }
		}, map[string]string{
			"I13_WhatMayHaveEndedAProcessRunsAlone": "message a is not run alone",
		}},
		{"an outage is a failure like others", onBatches(blamed), map[string]string{
			"I13_OutageLeavesTheBatch": "message a: error <nil>, want",
		}},
		{"batches have no keys", onBatches(withoutKeys), map[string]string{
			"I13_FailureHoldsBackItsKey": "message k/3: error none, want",
			"I13_BusyHoldsBackItsKey":    "message k/3: error none, want",
		}},
		{"what is acked are not the messages that were delivered", onBatches(copiedBatches), map[string]string{
			"I13_EarlyAckIsUndoneAlone": "message early: error none, want",
		}},
		{"a handler's acks reach the broker", onBatches(ackedBatches), map[string]string{
			"I13_HandlersAckReachesNobody": "the message is acked",
		}},
		{"single messages are halves of halves", onBatches(halving), map[string]string{
			"I13_EachRunsTwiceAtMost":  "times, want 2 at most",
			"N1_TwoFunctionsOfBatches": "error none, want",
		}},
	}
}

// claimsOne claims the first new message of a batch.
type claimsOne struct{ *controlStore }

func (s claimsOne) ClaimBatch(ctx context.Context, items []driver.BatchItem) (driver.Unit, []driver.Status, error) {
	statuses := make([]driver.Status, len(items))
	for i := range items {
		u, status, err := s.controlStore.ClaimBatch(ctx, items[i:i+1])
		if err != nil {
			return nil, nil, err
		}
		if statuses[i] = status[0]; u != nil {
			for j := i + 1; j < len(items); j++ {
				statuses[j] = driver.Later
			}
			return u, statuses, nil
		}
	}
	return nil, statuses, nil
}

// neverAlone lets what was under way together run together again.
type neverAlone struct{ *controlStore }

func (s neverAlone) AttemptBatch(_ context.Context, items []driver.BatchItem) ([]bool, error) {
	return make([]bool, len(items)), nil
}

// batchHandler is a handler of several messages.
type batchHandler = func(ctx context.Context, msgs []*message.Message) error

// brokenBatch processes batches in another way.
type brokenBatch struct {
	*inbox.Batch

	process func(ctx context.Context, msgs []*message.Message, handle batchHandler) []error
	each    func(handle func(ctx context.Context, msg *message.Message) error) inbox.BatchFunc
}

func (b brokenBatch) Process(ctx context.Context, msgs []*message.Message, handle batchHandler) []error {
	if b.process != nil {
		return b.process(ctx, msgs, handle)
	}
	return b.Batch.Process(ctx, msgs, handle)
}

func (b brokenBatch) HandleEach(handle func(ctx context.Context, msg *message.Message) error) inbox.BatchFunc {
	if b.each != nil {
		return b.each(handle)
	}
	return b.Batch.HandleEach(handle)
}

func onBatches(broken func(b *inbox.Batch) brokenBatch) func(c *control) {
	return func(c *control) {
		c.batches = func(b *inbox.Batch) inboxtest.BatchProcessor { return broken(b) }
	}
}

func withoutKeys(b *inbox.Batch) brokenBatch {
	return brokenBatch{Batch: b, process: func(ctx context.Context, msgs []*message.Message, handle batchHandler) []error {
		for _, msg := range msgs {
			delete(msg.Metadata, outbox.HeaderKey)
		}
		return b.Process(ctx, msgs, handle)
	}}
}

// copiedBatches processes copies.
func copiedBatches(b *inbox.Batch) brokenBatch {
	return brokenBatch{Batch: b, process: func(ctx context.Context, msgs []*message.Message, handle batchHandler) []error {
		copies := make([]*message.Message, len(msgs))
		for i, msg := range msgs {
			copies[i] = msg.CopyWithContext()
		}
		return b.Process(ctx, copies, handle)
	}}
}

// ackedBatches acks what the handler has acked.
func ackedBatches(b *inbox.Batch) brokenBatch {
	return brokenBatch{Batch: b, process: func(ctx context.Context, msgs []*message.Message, handle batchHandler) []error {
		return b.Process(ctx, msgs, func(ctx context.Context, own []*message.Message) error {
			err := handle(ctx, own)
			for _, msg := range msgs {
				msg.Ack()
			}
			return err
		})
	}}
}

// blamed takes what the handler says of an outage out of its error.
func blamed(b *inbox.Batch) brokenBatch {
	return brokenBatch{Batch: b, process: func(ctx context.Context, msgs []*message.Message, handle batchHandler) []error {
		return b.Process(ctx, msgs, func(ctx context.Context, msgs []*message.Message) error {
			return errors.Unwrap(handle(ctx, msgs))
		})
	}}
}

// halving runs single messages as Process does.
func halving(b *inbox.Batch) brokenBatch {
	return brokenBatch{Batch: b, each: func(handle func(ctx context.Context, msg *message.Message) error) inbox.BatchFunc {
		return b.Handle(func(_ context.Context, msgs []*message.Message) error {
			for _, msg := range msgs {
				if err := handle(msg.Context(), msg); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

// TestNegativeControls_BatchScripts: the random batches find what they are for.
func TestNegativeControls_BatchScripts(t *testing.T) {
	t.Parallel()
	for rule, complaint := range map[string]string{
		"an id is recorded before the handler runs": "has 0 effects, want 1",
		"a commit forgets the ids":                  "has 2 effects, want 1",
		"batches have no keys":                      "want leat: ",
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			for _, n := range negatives() {
				if n.rule == rule {
					require.ErrorContains(t, scripts(t, n.broken), complaint)
				}
			}
		})
	}
	require.NoError(t, scripts(t, func(*control) {}))
}

// scripts runs some scripts on one subject each, until one fails.
func scripts(t *testing.T, broken func(c *control)) (err error) {
	t.Helper()
	for seed := 0; seed < 50 && err == nil; seed++ {
		synctest.Test(t, func(t *testing.T) {
			c := newControl()
			broken(c)
			err = inboxtest.BatchScript(t.Context(), inboxtest.Features{}, c, seed)
		})
	}
	return err
}
