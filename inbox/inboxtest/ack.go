package inboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/middleware"
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
		{Name: "I3_HandlersAckReachesNobody", run: checkHandlersAck},
		{Name: "I3_HandlersNackUndoes", run: checkHandlersNack},
		{Name: "N1_TwoFunctionsOfOneInbox", run: checkTwoFunctions},
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

func checkNoAck(ctx context.Context, s Subject) {
	p := open(s)
	fail.If(untilAcked(ctx, p, "before", writing(s, "before")))
	s.BreakCommit(false)
	msg := newMessage(ctx, "a")
	_, err := deliver(ctx, p, msg, writing(s, "a"))
	if acked(msg) {
		fail.With("the message is acked and its effect is lost (error %w)", orNone(err))
	}
	fail.IfAny(wantEffects(ctx, s, "before"), untilAcked(ctx, p, "a", writing(s, "a")), wantEffects(ctx, s, "before", "a"))
}

// checkCommittedWhenAcked checks at the moment of the ack that the effect is committed.
func checkCommittedWhenAcked(ctx context.Context, s Subject) {
	p := open(s)
	msg := newMessage(ctx, "a")
	seen := make(chan error, 1)
	go func() {
		err := await(ctx, "the ack", msg.Acked())
		seen <- errors.Join(err, wantEffects(ctx, s, "a"), wantRecorded(ctx, s, "a", true))
	}()
	_, err := deliver(ctx, p, msg, writing(s, "a"))
	fail.IfAny(err, <-seen)
}

func checkBusyNotAcked(ctx context.Context, s Subject) {
	p := open(s)
	var found error
	err := wantOutcome(ctx, p, "a", inbox.OutcomeFailed, errHandler, func(context.Context) error {
		msg := newMessage(ctx, "a")
		outcome, err := deliver(ctx, p, msg, writing(s, "never"))
		if acked(msg) || outcome != inbox.OutcomeBusy || !errors.Is(err, inbox.ErrBusy) {
			found = fmt.Errorf("acked %t, outcome %s, error %w; want busy, %w", acked(msg), outcome, orNone(err), inbox.ErrBusy)
		}
		return errHandler
	})
	fail.IfAny(found, err, untilAcked(ctx, p, "a", writing(s, "a")), wantEffects(ctx, s, "a"))
}

func checkEarly(settle func(msg *message.Message) bool) func(ctx context.Context, s Subject) {
	return func(ctx context.Context, s Subject) {
		p := open(s)
		msg := newMessage(ctx, "a")
		outcome, err := p.Process(ctx, msg, func(ctx context.Context) error {
			settle(msg)
			return s.Write(ctx, "never")
		})
		if outcome != inbox.OutcomeFailed || !errors.Is(err, inbox.ErrAckedBeforeCommit) {
			fail.With("outcome %s, error %w; want failed, %w", outcome, orNone(err), inbox.ErrAckedBeforeCommit)
		}
		fail.IfAny(wantEffects(ctx, s), wantRecorded(ctx, s, "a", false))
	}
}

// behind returns a function that passes a message to p through the middleware, with handle as its handler.
func behind(p inbox.Runner, handle func(msg *message.Message) error) func(msg *message.Message) error {
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: p})
	fail.If(err)
	h := once(func(msg *message.Message) ([]*message.Message, error) { return nil, handle(msg) })
	return func(msg *message.Message) error {
		_, err := h(msg)
		return err
	}
}

// unsettled returns an error if msg is acked or nacked.
func unsettled(msg *message.Message) error {
	select {
	case <-msg.Acked():
		return errors.New("the message is acked")
	case <-msg.Nacked():
		return errors.New("the message is nacked")
	default:
		return nil
	}
}

// checkHandlersAck has a handler ack its message, as handlers of Watermill may: before it
// fails, and before it succeeds.
func checkHandlersAck(ctx context.Context, s Subject) {
	runs := 0
	h := behind(open(s), func(msg *message.Message) error {
		runs++
		msg.Ack()
		if err := s.Write(msg.Context(), "a"); err != nil || runs > 1 {
			return err
		}
		return errHandler
	})
	first, second := newMessage(ctx, "a"), newMessage(ctx, "a")
	err := h(first)
	if !errors.Is(err, errHandler) {
		fail.With("error %w, want %w", orNone(err), errHandler)
	}
	fail.IfAny(unsettled(first), wantEffects(ctx, s), wantRecorded(ctx, s, "a", false))
	fail.IfAny(h(second), unsettled(second), wantEffects(ctx, s, "a"), wantRecorded(ctx, s, "a", true))
}

// checkHandlersNack has a handler nack its message and return nil.
func checkHandlersNack(ctx context.Context, s Subject) {
	p := open(s)
	msg := newMessage(ctx, "a")
	err := behind(p, func(own *message.Message) error {
		own.Nack()
		return s.Write(own.Context(), "never")
	})(msg)
	if !errors.Is(err, inbox.ErrAckedBeforeCommit) {
		fail.With("error %w, want %w", orNone(err), inbox.ErrAckedBeforeCommit)
	}
	fail.IfAny(unsettled(msg), wantEffects(ctx, s), wantRecorded(ctx, s, "a", false), untilAcked(ctx, p, "a", writing(s, "a")))
}

// checkTwoFunctions puts two handlers behind one inbox, without a router that names them:
// messages of the first must not count as duplicates for the second.
func checkTwoFunctions(ctx context.Context, s Subject) {
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: open(s)})
	fail.If(err)
	first := once(func(msg *message.Message) ([]*message.Message, error) { return nil, s.Write(msg.Context(), "first") })
	second := once(func(msg *message.Message) ([]*message.Message, error) { return nil, s.Write(msg.Context(), "second") })
	_, err = first(newMessage(ctx, "a"))
	fail.If(err)
	for _, h := range []message.HandlerFunc{second, first} {
		if _, err := h(newMessage(ctx, "a")); !errors.Is(err, inbox.ErrTwoHandlers) {
			fail.With("error %w, want %w", orNone(err), inbox.ErrTwoHandlers)
		}
	}
	fail.If(wantEffects(ctx, s, "first"))
}
