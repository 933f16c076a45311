package inboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
)

// checkBatchEach hands a batch with failures of every kind to a handler of single messages,
// which must see each message twice at most, and each once while none fails.
func checkBatchEach(ctx context.Context, s BatchSubject) error {
	b, err := openBatch(s, 100)
	if err != nil {
		return err
	}
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
		if fail := failing[msg.UUID]; err == nil && fail != nil {
			err = fail(msg)
		}
		return err
	})
	ids := []string{"a", "k/1", "k/2", "b", "c", "d", "k/3", "e", "f", "e", "g"}
	results := handle(ctx, keyedBatch(ctx, ids...))
	err = errors.Join(
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
	return err
}
