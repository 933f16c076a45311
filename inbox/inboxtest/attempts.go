package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
)

// attemptChecks are about I4: attempts survive what happens to the handler.
func attemptChecks() []Check {
	return []Check{
		{Name: "I4_AttemptsSurviveTheRollback", run: failing(checkCounted)},
		{Name: "I4_AttemptsAreCountedAcrossProcesses", run: failing(checkCountedElsewhere)},
		{Name: "I4_PanicsAreAttempts", run: failing(checkPanicsCounted)},
		{Name: "I4_CancelledDeliveriesAreNoAttempts", run: failing(checkCancelledNotCounted)},
		{Name: "I4_OutagesAreNoAttempts", run: failing(checkOutagesNotCounted)},
		{Name: "I4_SuccessForgetsAttempts", run: failing(checkForgotten)},
		{Name: "I4_BusyAndDuplicateAreNoAttempts", run: failing(checkBusyNotCounted), skip: oneWriter},
		{Name: "I1_IDsOfAnEmptyMemory", run: failing(checkIDsOfAnEmptyMemory)},
	}
}

func isOrNil(err, want error) bool {
	if want == nil {
		return err == nil
	}
	return errors.Is(err, want)
}

// failTwice delivers the message called a until one attempt is left.
func failTwice(ctx context.Context, p inbox.Runner) (err error) {
	for range attempts - 1 {
		err = errors.Join(err, wantOutcome(ctx, p, "a", inbox.OutcomeFailed, errHandler, fails))
	}
	return err
}

func checkCounted(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking())
	fail.IfAny(
		failTwice(ctx, p),
		wantRecorded(ctx, s, "a", false),
		wantOutcome(ctx, p, "a", inbox.OutcomeParked, nil, func(ctx context.Context) error {
			return errors.Join(s.Write(ctx, "never"), errHandler)
		}),
		wantRecorded(ctx, s, "a", true),
		wantParked(ctx, s, "a"),
		wantEffects(ctx, s),
	)
}

func checkCountedElsewhere(ctx context.Context, s FailureSubject) {
	for i := range attempts {
		p := openFor(s, parking())
		want, wantErr := inbox.OutcomeFailed, errHandler
		if i == attempts-1 {
			want, wantErr = inbox.OutcomeParked, nil
		}
		fail.If(wantOutcome(ctx, p, "a", want, wantErr, fails))
	}
	fail.If(wantParked(ctx, s, "a"))
}

// checkPanicsCounted makes attempts that end by a panic: the delivery after the last of them
// gives the message up, and does not run it.
func checkPanicsCounted(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking())
	for range attempts {
		func() {
			defer func() { _ = recover() }()
			_, _ = deliver(ctx, p, newMessage(ctx, "a"), func(context.Context) error { panic("on purpose") })
		}()
	}
	fail.IfAny(
		wantOutcome(ctx, p, "a", inbox.OutcomeParked, nil, writing(s, "never")),
		wantParked(ctx, s, "a"),
		wantEffects(ctx, s),
	)
}

func checkCancelledNotCounted(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking())
	for range 2 * attempts {
		ended, cancel := context.WithCancel(ctx)
		err := wantOutcome(ended, p, "a", inbox.OutcomeFailed, context.Canceled, func(context.Context) error {
			cancel()
			return nil
		})
		cancel()
		fail.If(err)
	}
	fail.IfAny(failTwice(ctx, p), untilAcked(ctx, p, "a", writing(s, "a")), wantEffects(ctx, s, "a"), wantParked(ctx, s))
}

// checkOutagesNotCounted simulates an outage while a message is delivered, and while it is
// redriven.
func checkOutagesNotCounted(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking())
	outage := func(context.Context) error { return inbox.Outage(errHandler) }
	for range 2 * attempts {
		fail.If(wantOutcome(ctx, p, "a", inbox.OutcomeFailed, errHandler, outage))
	}
	fail.IfAny(failTwice(ctx, p), wantParked(ctx, s),
		wantOutcome(ctx, p, "a", inbox.OutcomeParked, nil, fails), wantParked(ctx, s, "a"))
	var calls atomic.Int32
	fail.IfAny(
		redriveUntil(ctx, s, p, "", func(ctx context.Context, _ *message.Message) error {
			if calls.Add(1) <= 2*attempts {
				return outage(ctx)
			}
			return s.Write(ctx, "a")
		}, func() error { return wantParked(ctx, s) }),
		wantEffects(ctx, s, "a"),
	)
}

func checkForgotten(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking())
	fail.IfAny(
		failTwice(ctx, p),
		wantOutcome(ctx, p, "a", inbox.OutcomeCommitted, nil, writing(s, "a")),
		wantOutcome(ctx, p, "a", inbox.OutcomeDuplicate, nil, fails),
		wantParked(ctx, s),
		wantEffects(ctx, s, "a"),
	)
}

// checkBusyNotCounted delivers copies of a message while it is in progress.
func checkBusyNotCounted(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking())
	var found error
	err := wantOutcome(ctx, p, "a", inbox.OutcomeFailed, errHandler, func(context.Context) error {
		for range 2 * attempts {
			found = errors.Join(found, wantOutcome(ctx, p, "a", inbox.OutcomeBusy, inbox.ErrBusy, writing(s, "never")))
		}
		return errHandler
	})
	fail.If(errors.Join(found, err), "while it is in progress")
	fail.IfAny(
		wantOutcome(ctx, p, "a", inbox.OutcomeFailed, errHandler, fails),
		wantOutcome(ctx, p, "a", inbox.OutcomeCommitted, nil, writing(s, "a")),
		wantEffects(ctx, s, "a"),
	)
}

func wantParked(ctx context.Context, s FailureSubject, want ...string) error {
	got, err := parkedIDs(ctx, s)
	if err != nil {
		return err
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("parked are %q, want %q", got, want)
	}
	return nil
}
