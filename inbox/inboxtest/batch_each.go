package inboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
)

// checkBatchEach hands a batch with failures of every kind to a handler of single messages,
// which must see each message twice at most, and each once while none fails.
func checkBatchEach(ctx context.Context, s BatchSubject) {
	b := openBatch(s, 100)
	failing := map[string]func(msg *message.Message) error{
		"k/2": func(*message.Message) error { return errHandler },
		"c":   func(*message.Message) error { panic(errHandler) },
		"d":   func(msg *message.Message) error { inbox.MarkRollbackOnly(msg.Context(), errHandler); return nil },
		"g":   func(*message.Message) error { return errHandler },
	}
	runs := map[string]int{}
	handle := b.HandleEach(func(ctx context.Context, msg *message.Message) error {
		runs[msg.UUID]++
		err := s.Write(ctx, msg.UUID)
		if failed := failing[msg.UUID]; err == nil && failed != nil {
			err = failed(msg)
		}
		return err
	})
	ids := []string{"a", "k/1", "k/2", "b", "c", "d", "k/3", "e", "f", "e", "g"}
	results := handle(ctx, keyedBatch(ctx, ids...))
	err := errors.Join(
		wantErrors(ids, results, nil, nil, errHandler, nil, errHandler, errHandler, inbox.ErrHeldBack, nil, nil, nil, errHandler),
		wantEffects(ctx, s, "a", "k/1", "b", "e", "f"),
	)
	for id, n := range runs {
		if n > 2 {
			err = errors.Join(err, fmt.Errorf("message %s ran %d times, want 2 at most", id, n))
		}
	}
	clear(runs)
	clear(failing)
	err = errors.Join(err, errors.Join(handle(ctx, keyedBatch(ctx, ids...))...), wantEffects(ctx, s, "a", "k/1", "b", "e", "f", "k/2", "c", "d", "k/3", "g"))
	for _, id := range []string{"k/2", "c", "d", "k/3", "g"} {
		if runs[id] != 1 {
			err = errors.Join(err, fmt.Errorf("message %s ran %d times without a failure, want once", id, runs[id]))
		}
	}
	if len(runs) != 5 {
		err = errors.Join(err, fmt.Errorf("%v ran, want the five that had failed", runs))
	}
	fail.If(err)
}

// checkTwoBatchFunctions gives two batches of one consumer a handler each.
func checkTwoBatchFunctions(ctx context.Context, s BatchSubject) {
	b := openBatch(s, 100)
	first := b.HandleEach(func(ctx context.Context, _ *message.Message) error { return s.Write(ctx, "first") })
	second := b.HandleEach(func(ctx context.Context, _ *message.Message) error { return s.Write(ctx, "second") })
	fail.If(errors.Join(first(ctx, keyedBatch(ctx, "a"))...))
	for _, process := range []inbox.BatchFunc{second, first} {
		fail.If(wantErrors([]string{"a"}, process(ctx, keyedBatch(ctx, "a")), inbox.ErrTwoHandlers))
	}
	fail.If(wantEffects(ctx, s, "first"))
}
