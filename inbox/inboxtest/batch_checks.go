package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/ids"
)

func checkBatchShares(ctx context.Context, s BatchSubject) {
	b := openBatch(s, 100)
	ids, calls := []string{"a", "b", "k/c", "k/d", "e"}, 0
	handle := func(ctx context.Context, msgs []*message.Message) error {
		calls++
		for i, msg := range msgs {
			if msg.UUID != ids[i] {
				return fmt.Errorf("message %d is %s, want %s", i, msg.UUID, ids[i])
			}
		}
		return errors.Join(s.Write(ctx, "all"), writingEach(s, nil)(ctx, msgs))
	}
	msgs := keyedBatch(ctx, ids...)
	for range 2 {
		fail.IfAny(b.Process(ctx, msgs, handle)...)
	}
	if calls != 1 {
		fail.With("the handler was called %d times, want 1", calls)
	}
	for _, msg := range msgs {
		if msg.Context() != ctx {
			fail.With("a message's context is not restored")
		}
	}
	fail.IfAny(wantEffects(ctx, s, append(ids, "all")...), wantRecorded(ctx, s, "a", true))
}

func checkBatchCopies(ctx context.Context, s BatchSubject) {
	b := openBatch(s, 3)
	// The last is the stored form of "k/a": to the inbox it is the same message.
	stored, _ := ids.Map("k/a")
	all := []string{"k/a", "k/a", "b", "k/a", "b", "c", "k/a", ids.Text(stored)}
	for range 2 {
		fail.IfAny(b.Process(ctx, keyedBatch(ctx, all...), writingEach(s, nil))...)
		fail.If(wantEffects(ctx, s, "k/a", "b", "c"))
	}
}

func checkBatchFailure(failure func(i int) error) func(ctx context.Context, s BatchSubject) {
	return func(ctx context.Context, s BatchSubject) {
		b := openBatch(s, 100)
		ids := []string{"a", "b", "c", "d", "e", "bad", "f", "g"}
		results := b.Process(ctx, keyedBatch(ctx, ids...), writingEach(s, func(i int, msg *message.Message) error {
			if msg.UUID == "bad" {
				return failure(i)
			}
			return nil
		}))
		fail.IfAny(
			wantErrors(ids, results, nil, nil, nil, nil, nil, errHandler, nil, nil),
			wantEffects(ctx, s, "a", "b", "c", "d", "e", "f", "g"),
			wantRecorded(ctx, s, "bad", false),
			batchUntilAcked(ctx, b, writingEach(s, nil), ids...),
			wantEffects(ctx, s, ids...),
		)
	}
}

func checkBatchFailureHoldsBack(ctx context.Context, s BatchSubject) {
	b := openBatch(s, 4) // the last are in another transaction
	ids := []string{"k/1", "x", "k/2", "l/1", "k/3", "l/2", "k/4"}
	results := b.Process(ctx, keyedBatch(ctx, ids...), writingEach(s, func(_ int, msg *message.Message) error {
		if msg.UUID == "k/2" {
			return errHandler
		}
		return nil
	}))
	fail.IfAny(
		wantErrors(ids, results, nil, nil, errHandler, nil, inbox.ErrHeldBack, nil, inbox.ErrHeldBack),
		wantEffects(ctx, s, "k/1", "x", "l/1", "l/2"),
		wantRecorded(ctx, s, "k/3", false),
		batchUntilAcked(ctx, b, writingEach(s, nil), ids...),
		wantEffects(ctx, s, ids...),
	)
}

// checkBatchBusyHoldsBack holds a message in another delivery while a batch with
// it is processed.
func checkBatchBusyHoldsBack(ctx context.Context, s BatchSubject) {
	p, b := open(s), openBatch(s, 100)
	ids := []string{"k/1", "a", "k/2", "k/3", "b"}
	fail.IfAny(
		probe(ctx, s, p, "k/2", func() error {
			results := b.Process(ctx, keyedBatch(ctx, ids...), writingEach(s, nil))
			return errors.Join(
				wantErrors(ids, results, nil, nil, inbox.ErrBusy, inbox.ErrHeldBack, nil),
				wantEffects(ctx, s, "k/1", "a", "b"),
				wantRecorded(ctx, s, "k/3", false),
			)
		}),
		batchUntilAcked(ctx, b, writingEach(s, nil), ids...),
		wantEffects(ctx, s, ids...),
	)
}

// checkBatchEarlyAck acks a delivered message from outside while the handler runs.
func checkBatchEarlyAck(ctx context.Context, s BatchSubject) {
	b := openBatch(s, 100)
	ids := []string{"a", "early", "b"}
	delivered := keyedBatch(ctx, ids...)
	results := b.Process(ctx, delivered, writingEach(s, func(_ int, msg *message.Message) error {
		if msg.UUID == "early" {
			delivered[1].Ack()
		}
		return nil
	}))
	fail.IfAny(
		wantErrors(ids, results, nil, inbox.ErrAckedBeforeCommit, nil),
		wantEffects(ctx, s, "a", "b"),
		wantRecorded(ctx, s, "early", false),
	)
}

// checkBatchHandlersAck has handlers of both kinds ack their messages, and nack one.
func checkBatchHandlersAck(ctx context.Context, s BatchSubject) {
	b := openBatch(s, 100)
	settle := func(msg *message.Message) {
		if strings.HasPrefix(msg.UUID, "nacked") {
			msg.Nack()
		}
		msg.Ack()
	}
	ids := []string{"a", "nacked", "b"}
	delivered := keyedBatch(ctx, ids...)
	together := b.Process(ctx, delivered, writingEach(s, func(_ int, msg *message.Message) error {
		settle(msg)
		return nil
	}))
	more := []string{"c", "nacked too", "d"}
	deliveredMore := keyedBatch(ctx, more...)
	each := b.HandleEach(func(ctx context.Context, msg *message.Message) error {
		settle(msg)
		return s.Write(ctx, msg.UUID)
	})(ctx, deliveredMore)
	err := errors.Join(
		wantErrors(ids, together, nil, inbox.ErrAckedBeforeCommit, nil),
		wantErrors(more, each, nil, inbox.ErrAckedBeforeCommit, nil),
		wantEffects(ctx, s, "a", "b", "c", "d"),
	)
	for _, msg := range append(delivered, deliveredMore...) {
		err = errors.Join(err, unsettled(msg))
	}
	fail.If(err)
}

func checkBatchAmbiguous(applied bool) func(ctx context.Context, s BatchSubject) {
	return func(ctx context.Context, s BatchSubject) {
		b := openBatch(s, 100)
		// The first commits warm the connections up, so that only a commit breaks.
		fail.If(batchUntilAcked(ctx, b, writingEach(s, nil), "before", "before too"))
		s.BreakCommit(applied)
		ids, runs := []string{"a", "b", "a"}, 0
		handle := writingEach(s, func(int, *message.Message) error {
			runs++
			return nil
		})
		err := wantErrors(ids, b.Process(ctx, keyedBatch(ctx, ids...), handle),
			inbox.ErrCommitUnknown, inbox.ErrCommitUnknown, inbox.ErrCommitUnknown)
		err = errors.Join(err, batchUntilAcked(ctx, b, handle, ids...))
		if want := map[bool]int{true: 2, false: 4}[applied]; runs != want {
			err = errors.Join(err, fmt.Errorf("messages ran %d times, want %d", runs, want))
		}
		fail.IfAny(err, wantEffects(ctx, s, "before", "before too", "a", "b"))
	}
}

// checkBatchLanes has several lanes process the same messages, in batches of random order. A
// fifth of the messages fail.
func checkBatchLanes(ctx context.Context, s BatchSubject) {
	const lanes, messages, size = 8, 30, 9

	var (
		group sync.WaitGroup
		errs  [lanes]error
		want  = make([]string, messages)
	)
	for i := range want {
		want[i] = "m" + strconv.Itoa(i)
	}
	for lane := range lanes {
		b := openBatch(s, size)
		group.Go(func() {
			ids := slices.Clone(want)
			rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] }) //nolint:gosec // any order will do
			for part := range slices.Chunk(ids, size) {
				errs[lane] = errors.Join(errs[lane], batchUntilAcked(ctx, b, writingEach(s, func(int, *message.Message) error {
					if rand.N(5*size) == 0 { //nolint:gosec // any will do
						return errHandler
					}
					return nil
				}), part...))
			}
		})
	}
	group.Wait()
	fail.IfAny(errors.Join(errs[:]...), wantEffects(ctx, s, want...))
}
