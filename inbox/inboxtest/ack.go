package inboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

// ackChecks are about I3: ack after commit, and Busy is never acked.
func ackChecks() []Check {
	return []Check{
		{Name: "I3_NoAckWithoutCommit", run: checkNoAck, skip: needsBreakCommit},
		{Name: "I3_CommittedWhenAcked", run: checkCommittedWhenAcked},
		{Name: "I3_BusyIsNotAcked", run: checkBusyNotAcked, skip: nobodyIsBusy},
		{Name: "I3_EarlyAckIsRefused", run: checkEarly((*message.Message).Ack)},
		{Name: "I3_EarlyNackIsRefused", run: checkEarly((*message.Message).Nack)},
	}
}

func enqueue(ctx context.Context, s Subject, id string) error {
	return s.Outbox().EnqueueContext(ctx, outbox.Message{ID: id, Topic: "out"})
}

func acked(msg *message.Message) bool {
	select {
	case <-msg.Acked():
		return true
	default:
		return false
	}
}

func checkNoAck(ctx context.Context, s Subject) error {
	p, err := open(s)
	if err != nil {
		return err
	}
	if err := untilAcked(ctx, p, "before", writing(s, "before")); err != nil {
		return err
	}
	s.BreakCommit(false)
	msg := newMessage(ctx, "a")
	_, err = deliver(ctx, p, msg, writing(s, "a"))
	if acked(msg) {
		return fmt.Errorf("the message is acked and its effect is lost (error %w)", orNone(err))
	}
	return errors.Join(wantEffects(ctx, s, "before"), untilAcked(ctx, p, "a", writing(s, "a")), wantEffects(ctx, s, "before", "a"))
}

// checkCommittedWhenAcked looks at the moment of the ack what is committed.
func checkCommittedWhenAcked(ctx context.Context, s Subject) error {
	p, err := open(s)
	if err != nil {
		return err
	}
	msg := newMessage(ctx, "a")
	seen := make(chan error, 1)
	go func() {
		err := await(ctx, "the ack", msg.Acked())
		seen <- errors.Join(err, wantEffects(ctx, s, "a"), wantRecorded(ctx, s, "a", true))
	}()
	_, err = deliver(ctx, p, msg, writing(s, "a"))
	return errors.Join(err, <-seen)
}

func checkBusyNotAcked(ctx context.Context, s Subject) error {
	p, err := open(s)
	if err != nil {
		return err
	}
	var found error
	err = wantOutcome(ctx, p, "a", inbox.OutcomeFailed, errHandler, func(context.Context) error {
		msg := newMessage(ctx, "a")
		outcome, err := deliver(ctx, p, msg, writing(s, "never"))
		if acked(msg) || outcome != inbox.OutcomeBusy || !errors.Is(err, inbox.ErrBusy) {
			found = fmt.Errorf("acked %t, outcome %s, error %w; want busy, %w", acked(msg), outcome, orNone(err), inbox.ErrBusy)
		}
		return errHandler
	})
	return errors.Join(found, err, untilAcked(ctx, p, "a", writing(s, "a")), wantEffects(ctx, s, "a"))
}

func checkEarly(settle func(msg *message.Message) bool) func(ctx context.Context, s Subject) error {
	return func(ctx context.Context, s Subject) error {
		p, err := open(s)
		if err != nil {
			return err
		}
		msg := newMessage(ctx, "a")
		outcome, err := p.Process(ctx, msg, func(ctx context.Context) error {
			settle(msg)
			return s.Write(ctx, "never")
		})
		if outcome != inbox.OutcomeFailed || !errors.Is(err, inbox.ErrAckedBeforeCommit) {
			return fmt.Errorf("outcome %s, error %w; want failed, %w", outcome, orNone(err), inbox.ErrAckedBeforeCommit)
		}
		return errors.Join(wantEffects(ctx, s), wantRecorded(ctx, s, "a", false))
	}
}
