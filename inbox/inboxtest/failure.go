package inboxtest

import (
	"context"
	"errors"
	"runtime"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
)

// failureChecks are about I4: a failure leaves no record behind.
func failureChecks() []Check {
	return []Check{
		{Name: "I4_ErrorLeavesNoRecord", run: checkFailure(errHandler, func(context.Context, context.CancelFunc) error {
			return errHandler
		})},
		{Name: "I4_RollbackOnlyLeavesNoRecord", run: checkFailure(inbox.ErrRollbackOnly, func(ctx context.Context, _ context.CancelFunc) error {
			inbox.MarkRollbackOnly(ctx, errHandler)
			return nil
		})},
		{Name: "I4_CancelledContextLeavesNoRecord", run: checkFailure(context.Canceled, func(_ context.Context, cancel context.CancelFunc) error {
			cancel()
			return nil
		})},
		{Name: "I4_PanicLeavesNoRecord", run: checkPanic},
		{Name: "I4_GoexitLeavesNoRecord", run: checkGoexit},
	}
}

func checkFailure(want error, end func(ctx context.Context, cancel context.CancelFunc) error) func(ctx context.Context, s Subject) {
	return func(ctx context.Context, s Subject) {
		p := open(s)
		attempt, cancel := context.WithCancel(ctx)
		defer cancel()
		err := wantOutcome(attempt, p, "a", inbox.OutcomeFailed, want, func(ctx context.Context) error {
			if err := s.Write(ctx, "never"); err != nil {
				return err
			}
			return end(ctx, cancel)
		})
		fail.IfAny(err, leftNothing(ctx, s, p))
	}
}

// leftNothing returns an error if the failed message called a has left a trace.
func leftNothing(ctx context.Context, s Subject, p inbox.Runner) error {
	return errors.Join(
		wantRecorded(ctx, s, "a", false),
		wantEffects(ctx, s),
		untilAcked(ctx, p, "a", writing(s, "a")),
		wantRecorded(ctx, s, "a", true),
		wantEffects(ctx, s, "a"),
	)
}

func checkPanic(ctx context.Context, s Subject) {
	p := open(s)
	recovered := func() (v any) {
		defer func() { v = recover() }()
		_, _ = deliver(ctx, p, newMessage(ctx, "a"), func(ctx context.Context) error {
			_ = s.Write(ctx, "never")
			panic("on purpose")
		})
		return nil
	}()
	if recovered != "on purpose" {
		fail.With("recovered %v, want the handler's panic to go on", recovered)
	}
	fail.If(leftNothing(ctx, s, p))
}

func checkGoexit(ctx context.Context, s Subject) {
	p := open(s)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = deliver(ctx, p, newMessage(ctx, "a"), func(ctx context.Context) error {
			_ = s.Write(ctx, "never")
			runtime.Goexit()
			return nil
		})
	}()
	fail.IfAny(await(ctx, "the handler", ended), leftNothing(ctx, s, p))
}
