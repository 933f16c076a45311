package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// BatchProcessor is the subject of the batch checks. Its contract is that of inbox.Batch.
type BatchProcessor interface {
	Process(ctx context.Context, msgs []*message.Message, handle func(ctx context.Context, msgs []*message.Message) error) []error
	HandleEach(handle func(ctx context.Context, msg *message.Message) error) inbox.BatchFunc
}

// BatchSubject is a Subject whose inboxes process batches as well.
type BatchSubject interface {
	Subject

	// OpenBatch is Open for a Batch.
	OpenBatch(consumer string, cfg inbox.Config, batch inbox.BatchConfig) (BatchProcessor, error)
}

// RunBatch runs the checks of an inbox's batches, in parallel, each on a new
// subject.
func RunBatch(t *testing.T, f Features, newSubject func(t *testing.T) BatchSubject) {
	t.Helper()
	runAll(t, BatchChecks(f), newSubject)
	if f.NoBatches {
		return
	}
	t.Run("I13_BatchIsSomeSequenceOfSingles", func(t *testing.T) {
		t.Parallel()
		runBatchScripts(t, f, newSubject(t))
	})
}

// BatchChecks returns the checks that RunBatch runs, less the random ones. They
// are about I13: a batch has the result of some sequence of its messages. The
// subject of each must be a BatchSubject.
func BatchChecks(f Features) []Check {
	return possible(unless(noBatches, append(batchFailureChecks(), []Check{
		batchCheck("I13_FreshMessagesShareATransaction", checkBatchShares),
		batchCheck("I13_CopiesInABatchRunOnce", checkBatchCopies),
		batchCheck("I13_FailureIsUndoneAlone", checkBatchFailure(func(int) error { return errHandler })),
		batchCheck("I13_NamedFailureIsUndoneAlone", checkBatchFailure(func(i int) error {
			return &inbox.MessageError{Index: i, Err: errHandler}
		})),
		batchCheck("I13_WronglyNamedFailureIsUndoneAlone", checkBatchFailure(func(int) error {
			return &inbox.MessageError{Index: 0, Err: errHandler}
		})),
		batchCheck("I13_PanicIsUndoneAlone", checkBatchFailure(func(int) error { panic(errHandler) })),
		batchCheck("I13_FailureHoldsBackItsKey", checkBatchFailureHoldsBack),
		{Name: "I13_BusyHoldsBackItsKey", run: onBatches(checkBatchBusyHoldsBack), skip: oneWriter},
		batchCheck("I13_EarlyAckIsUndoneAlone", checkBatchEarlyAck),
		batchCheck("I13_HandlersAckReachesNobody", checkBatchHandlersAck),
		batchCheck("N1_TwoFunctionsOfBatches", checkTwoBatchFunctions),
		batchCheck("I13_LanesWithOverlappingBatches", checkBatchLanes),
		batchCheck("I13_EachRunsTwiceAtMost", checkBatchEach),
		{Name: "I13_AmbiguousCommitThatTookEffect", run: onBatches(checkBatchAmbiguous(true)), skip: needsBreakCommit},
		{Name: "I13_AmbiguousCommitThatDidNot", run: onBatches(checkBatchAmbiguous(false)), skip: needsBreakCommit},
	}...)...), f)
}

func batchCheck(name string, run func(ctx context.Context, s BatchSubject)) Check {
	return Check{Name: name, run: onBatches(run)}
}

func onBatches(run func(ctx context.Context, s BatchSubject)) func(ctx context.Context, s Subject) {
	return func(ctx context.Context, s Subject) {
		b, ok := s.(BatchSubject)
		if !ok {
			fail.With("inboxtest: a %T opens no batches", s)
		}
		run(ctx, b)
	}
}

// openBatch returns a Batch that does not keep the suite waiting.
func openBatch(s BatchSubject, maxBatch int) BatchProcessor {
	cfg := inbox.Config{BusyDelay: 2 * time.Millisecond, OnFailure: inbox.Policy{Delay: inbox.NoDelay}}
	b, err := s.OpenBatch(consumer, cfg, inbox.BatchConfig{MaxBatch: maxBatch})
	fail.If(err)
	return b
}

// keyedBatch returns deliveries of messages. The part of an id before a slash is the key: "k/a"
// has the key k, "a" has none.
func keyedBatch(ctx context.Context, ids ...string) []*message.Message {
	msgs := make([]*message.Message, len(ids))
	for i, id := range ids {
		msgs[i] = newMessage(ctx, id)
		if key := keyOf(id); key != "" {
			msgs[i].Metadata.Set(outbox.HeaderKey, key)
		}
	}
	return msgs
}

func keyOf(id string) string {
	for i := range id {
		if id[i] == '/' {
			return id[:i]
		}
	}
	return ""
}

// writingEach returns a handler that writes the id of each message, in the message's own context,
// and then fails for those for which failing returns true.
func writingEach(s Subject, failing func(i int, msg *message.Message) error) func(ctx context.Context, msgs []*message.Message) error {
	return func(_ context.Context, msgs []*message.Message) error {
		for i, msg := range msgs {
			if err := s.Write(msg.Context(), msg.UUID); err != nil {
				return err
			}
			if failing == nil {
				continue
			}
			if err := failing(i, msg); err != nil {
				return err
			}
		}
		return nil
	}
}

// batchUntilAcked delivers ids until each is acked.
func batchUntilAcked(ctx context.Context, b BatchProcessor, handle func(ctx context.Context, msgs []*message.Message) error, ids ...string) error {
	for len(ids) > 0 {
		var again []string
		for i, err := range b.Process(ctx, keyedBatch(ctx, ids...), handle) {
			if err != nil {
				again = append(again, ids[i])
			}
		}
		ids = again
		if err := wait.For(ctx, time.Millisecond); err != nil {
			return fmt.Errorf("messages %q are still not acked: %w", ids, err)
		}
	}
	return nil
}

// wantErrors compares the results of ids with want, nil for none.
func wantErrors(ids []string, got []error, want ...error) error {
	var errs []error
	for i := range want {
		if !errors.Is(got[i], want[i]) {
			errs = append(errs, fmt.Errorf("message %s: error %w, want %w", ids[i], orNone(got[i]), orNone(want[i])))
		}
	}
	return errors.Join(errs...)
}
