package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
)

const millisecond = time.Millisecond

// redriveChecks are about messages that an operator has redriven.
func redriveChecks() []Check {
	return []Check{
		{Name: "I1_RedriveTakesEffectOnce", run: failing(checkRedriveOnce)},
		{Name: "I4_RedriveThatFailsLeavesTheMessage", run: failing(checkRedriveFails)},
		{Name: "I4_RedriveThatFailsParksTheKeyAgain", run: failing(checkRedriveParksAgain)},
		{Name: "I2_RedriveEnqueuesInItsTransaction", run: failing(checkRedriveEnqueues)},
	}
}

// checkRedriveOnce has two processes redrive while the message is delivered, too.
func checkRedriveOnce(ctx context.Context, s FailureSubject) {
	first, second := openFor(s, parking()), openFor(s, parking())
	fail.If(park(ctx, first, "a", ""))
	handle := func(ctx context.Context, _ *message.Message) error { return s.Write(ctx, "a") }
	fail.If(whileRedriving(ctx, first, handle, func() error {
		return redriveUntil(ctx, s, second, "", handle, func() error {
			return errors.Join(
				wantOutcome(ctx, second, "a", inbox.OutcomeDuplicate, nil, writing(s, "again")),
				wantEffects(ctx, s, "a"), wantParked(ctx, s), wantRecorded(ctx, s, "a", true),
			)
		})
	}))
}

func checkRedriveFails(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking())
	fail.If(park(ctx, p, "a", "k"))
	var calls atomic.Int32
	fail.IfAny(
		redriveUntil(ctx, s, p, "k", func(ctx context.Context, _ *message.Message) error {
			if err := s.Write(ctx, "a"); err != nil {
				return err
			}
			if calls.Add(1) < attempts {
				return errHandler
			}
			return nil
		}, func() error { return wantParked(ctx, s) }),
		wantEffects(ctx, s, "a"),
	)
}

func checkRedriveParksAgain(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking())
	var calls atomic.Int32
	handle := func(ctx context.Context, msg *message.Message) error {
		if calls.Add(1) <= attempts {
			return errors.Join(s.Write(ctx, "never"), errHandler)
		}
		return s.Write(ctx, msg.UUID)
	}
	fail.IfAny(park(ctx, p, "a", "k"), wantDelivered(ctx, p, delivery(ctx, "b", "k"), inbox.OutcomeParked, nil, writing(s, "never")))
	fail.If(whileRedriving(ctx, p, handle, func() error {
		if err := redrive(ctx, s, "k"); err != nil {
			return err
		}
		// It is parked again as soon as it can be redriven again.
		err := eventually(ctx, func() error {
			if n := calls.Load(); n != attempts {
				return fmt.Errorf("the handler ran %d times, want %d", n, attempts)
			}
			return nil
		})
		return errors.Join(err, wantParked(ctx, s, "a", "b"), wantEffects(ctx, s),
			eventually(ctx, func() error { return redrive(ctx, s, "k") }), // fails until it is parked again
			eventually(ctx, func() error { return errors.Join(wantEffects(ctx, s, "a", "b"), wantParked(ctx, s)) }))
	}))
}

func checkRedriveEnqueues(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking())
	fail.If(park(ctx, p, "a", ""))
	var calls atomic.Int32
	fail.IfAny(
		redriveUntil(ctx, s, p, "", func(ctx context.Context, _ *message.Message) error {
			err := enqueue(ctx, s, "child")
			if calls.Add(1) == 1 {
				err = errors.Join(err, errHandler)
			}
			return err
		}, func() error { return wantParked(ctx, s) }),
		wantEnqueued(ctx, s, "child"),
	)
}
