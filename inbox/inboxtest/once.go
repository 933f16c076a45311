package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
)

// onceChecks are about I1: at most one committed execution per consumer and id, and exactly one
// once the message is acked.
func onceChecks() []Check {
	return []Check{
		{Name: "I1_RedeliveryAfterCommitIsADuplicate", run: checkRedelivery},
		{Name: "I1_RedeliveryAfterRollbackRunsAgain", run: checkAfterRollback},
		{Name: "I1_AmbiguousCommitThatTookEffect", run: checkAmbiguous(true), skip: needsBreakCommit},
		{Name: "I1_AmbiguousCommitThatDidNot", run: checkAmbiguous(false), skip: needsBreakCommit},
		{Name: "I1_AnotherProcessRemembers", run: checkOtherProcess},
		{Name: "I1_ConsumersAreIndependent", run: checkConsumers},
		{Name: "I1_IDsAreKeptApart", run: checkIDs},
		{Name: "I1_ConcurrentDuplicatesWithFailures", run: checkStorm},
	}
}

func checkRedelivery(ctx context.Context, s Subject) {
	p := open(s)
	fail.IfAny(
		wantOutcome(ctx, p, "a", inbox.OutcomeCommitted, nil, writing(s, "a")),
		wantOutcome(ctx, p, "a", inbox.OutcomeDuplicate, nil, writing(s, "a again")),
		wantOutcome(ctx, p, "a", inbox.OutcomeDuplicate, nil, writing(s, "a again")),
		wantEffects(ctx, s, "a"),
	)
}

func checkAfterRollback(ctx context.Context, s Subject) {
	p := open(s)
	fail.IfAny(
		wantOutcome(ctx, p, "a", inbox.OutcomeFailed, errHandler, func(ctx context.Context) error {
			return errors.Join(s.Write(ctx, "never"), errHandler)
		}),
		untilAcked(ctx, p, "a", writing(s, "a")),
		wantOutcome(ctx, p, "a", inbox.OutcomeDuplicate, nil, writing(s, "a again")),
		wantEffects(ctx, s, "a"),
	)
}

func checkAmbiguous(applied bool) func(ctx context.Context, s Subject) {
	return func(ctx context.Context, s Subject) {
		p := open(s)
		// The first commits warm the connections up, so that only a commit breaks.
		fail.If(untilAcked(ctx, p, "before", writing(s, "before")))
		runs := 0
		handle := func(ctx context.Context) error {
			runs++
			return s.Write(ctx, "a")
		}
		s.BreakCommit(applied)
		msg := newMessage(ctx, "a")
		outcome, err := deliver(ctx, p, msg, handle)
		if !errors.Is(err, inbox.ErrCommitUnknown) || outcome != inbox.OutcomeUnknown {
			fail.With("outcome %s, error %w; want unknown, %w", outcome, orNone(err), inbox.ErrCommitUnknown)
		}
		fail.If(untilAcked(ctx, p, "a", handle))
		if want := map[bool]int{true: 1, false: 2}[applied]; runs != want {
			fail.With("the handler ran %d times, want %d", runs, want)
		}
		fail.IfAny(wantRecorded(ctx, s, "a", true), wantEffects(ctx, s, "before", "a"))
	}
}

func checkOtherProcess(ctx context.Context, s Subject) {
	first, second := open(s), open(s)
	fail.IfAny(
		wantOutcome(ctx, first, "a", inbox.OutcomeCommitted, nil, writing(s, "a")),
		wantOutcome(ctx, second, "a", inbox.OutcomeDuplicate, nil, writing(s, "a again")),
		wantEffects(ctx, s, "a"),
	)
}

func checkConsumers(ctx context.Context, s Subject) {
	names := []string{"b", "a", "A", "a ", "ä", `"`}
	for _, name := range names {
		p, err := s.Open(name, inbox.Config{})
		fail.If(err)
		fail.If(errors.Join(
			wantOutcome(ctx, p, "m", inbox.OutcomeCommitted, nil, writing(s, name)),
			wantOutcome(ctx, p, "m", inbox.OutcomeDuplicate, nil, writing(s, name+" again")),
		), fmt.Sprintf("consumer %q", name))
	}
	fail.If(wantEffects(ctx, s, names...))
}

// checkIDs uses ids of every kind: UUIDs, other texts, and each in a form that looks like the
// other.
func checkIDs(ctx context.Context, s Subject) {
	ids := []string{
		"018f2a3b-4c5d-7e6f-8a9b-0c1d2e3f4a5b", "018f2a3b-4c5d-7e6f-8a9b-0c1d2e3f4a5c",
		"018F2A3B-4C5D-7E6F-8A9B-0C1D2E3F4A5B", "{018f2a3b-4c5d-7e6f-8a9b-0c1d2e3f4a5b}",
		"018f2a3b4c5d7e6f8a9b0c1d2e3f4a5b", "00000000-0000-0000-0000-000000000000",
		"01J2QK5N3V8X7Z", "order-1", "order-2", "ORDER-1", "order-1 ", " order-1", "\u00f6rder-1", " ", "  ", "topic/3/17", "a\x00b", "\xff",
	}
	p := open(s)
	want := make([]string, len(ids))
	for i, id := range ids {
		want[i] = strconv.Itoa(i)
		fail.If(wantOutcome(ctx, p, id, inbox.OutcomeCommitted, nil, writing(s, want[i])))
	}
	for _, id := range ids {
		fail.If(wantOutcome(ctx, p, id, inbox.OutcomeDuplicate, nil, writing(s, "again")))
	}
	fail.If(wantEffects(ctx, s, want...))
}

// checkStorm delivers few messages many times at once. A fifth of the handlers
// fail.
func checkStorm(ctx context.Context, s Subject) {
	const workers, messages, copies = 8, 12, 3

	var group sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		p := open(s)
		group.Go(func() {
			for _, i := range rand.Perm(messages * copies) { //nolint:gosec // any order will do
				id := "m" + strconv.Itoa(i%messages)
				errs[w] = errors.Join(errs[w], untilAcked(ctx, p, id, func(ctx context.Context) error {
					if err := s.Write(ctx, id); err != nil {
						return err
					}
					if rand.N(5) == 0 { //nolint:gosec // any will do
						return errHandler
					}
					return nil
				}))
			}
		})
	}
	group.Wait()

	want := make([]string, messages)
	for i := range want {
		want[i] = "m" + strconv.Itoa(i)
	}
	fail.IfAny(errors.Join(errs...), wantEffects(ctx, s, want...))
}
