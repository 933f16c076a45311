package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
)

// batchFailureChecks are about batches whose attempts are counted.
func batchFailureChecks() []Check {
	return []Check{
		batchCheck("I13_PoisonIsParkedAlone", checkBatchParks),
		batchCheck("I13_AnotherPolicyStaysBehindAParkedKey", checkBatchOtherPolicy),
		batchCheck("I13_OutageLeavesTheBatch", checkBatchOutage),
		batchCheck("I13_WhatMayHaveEndedAProcessRunsAlone", checkBatchCrash),
	}
}

// openParking returns a Batch that parks after one attempt.
func openParking(s BatchSubject) BatchProcessor {
	cfg := inbox.Config{
		BusyDelay: 2 * time.Millisecond,
		OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1, Delay: inbox.NoDelay},
	}
	b, err := s.OpenBatch(consumer, cfg, inbox.BatchConfig{})
	fail.If(err)
	return b
}

// checkBatchParks also delivers messages of the parked key, which are stored
// behind it.
func checkBatchParks(ctx context.Context, s BatchSubject) {
	b := openParking(s)
	handle := writingEach(s, func(_ int, msg *message.Message) error {
		if msg.UUID == "k/2" {
			return errHandler
		}
		return nil
	})
	first := b.Process(ctx, keyedBatch(ctx, "k/1", "a", "k/2", "k/3", "b"), handle)
	second := b.Process(ctx, keyedBatch(ctx, "c", "k/4", "d", "k/3", "k/1"), handle)
	fail.IfAny(
		errors.Join(first...), errors.Join(second...), // all are acknowledged
		wantEffects(ctx, s, "k/1", "a", "b", "c", "d"),
		wantRecorded(ctx, s, "k/4", true),
	)
}

// checkBatchOtherPolicy delivers messages of a parked key under a policy that counts no attempts.
func checkBatchOtherPolicy(ctx context.Context, s BatchSubject) {
	parked := openParking(s).Process(ctx, keyedBatch(ctx, "k/1"), writingEach(s, func(int, *message.Message) error { return errHandler }))
	b, err := s.OpenBatch(consumer, inbox.Config{BusyDelay: 2 * time.Millisecond, OnFailure: inbox.Policy{Delay: inbox.NoDelay}}, inbox.BatchConfig{})
	fail.If(err)
	results := b.Process(ctx, keyedBatch(ctx, "a", "k/2", "b", "k/3"), writingEach(s, nil))
	fail.IfAny(
		errors.Join(parked...), errors.Join(results...),
		wantEffects(ctx, s, "a", "b"),
		wantRecorded(ctx, s, "k/2", true), wantRecorded(ctx, s, "k/3", true),
	)
}

// checkBatchOutage: in an outage one message is tried, together with others or alone, and none has
// an attempt counted.
func checkBatchOutage(ctx context.Context, s BatchSubject) {
	b := openParking(s)
	ids, calls := []string{"a", "b", "k/1", "k/2"}, 0
	for range 3 {
		results := b.Process(ctx, keyedBatch(ctx, ids...), func(context.Context, []*message.Message) error {
			calls++
			return inbox.Outage(errHandler)
		})
		for i, err := range results {
			if !errors.Is(err, errHandler) {
				fail.With("message %s: error %v, want %v", ids[i], err, errHandler)
			}
		}
	}
	if calls != 3 {
		fail.With("the handler ran %d times in three deliveries, want 3", calls)
	}
	fail.IfAny(batchUntilAcked(ctx, b, writingEach(s, nil), ids...), wantEffects(ctx, s, ids...))
}

// checkBatchCrash ends the handler's goroutine, which is the closest that a check can get to a
// crash. No message is given up because of it.
func checkBatchCrash(ctx context.Context, s BatchSubject) {
	b := openParking(s)
	ids, ended := []string{"a", "b", "c"}, make(chan struct{})
	go func() {
		defer close(ended)
		b.Process(ctx, keyedBatch(ctx, ids...), func(context.Context, []*message.Message) error {
			runtime.Goexit()
			return nil
		})
	}()
	fail.If(await(ctx, "the handler", ended))
	var found error
	results := b.Process(ctx, keyedBatch(ctx, append(ids, "d", "e")...), func(ctx context.Context, msgs []*message.Message) error {
		if len(msgs) > 1 && msgs[0].UUID != "d" {
			found = fmt.Errorf("message %s is not run alone", msgs[0].UUID)
		}
		return writingEach(s, nil)(ctx, msgs)
	})
	fail.IfAny(found, errors.Join(results...), wantEffects(ctx, s, "a", "b", "c", "d", "e"))
}
