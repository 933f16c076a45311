package inboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
)

// giveUpChecks are about what happens to a message after its last attempt.
func giveUpChecks() []Check {
	return []Check{
		{Name: "I3_ParkedWhenAcked", run: failing(checkParkedWhenAcked)},
		{Name: "I1_PermanentIsGivenUpAtOnce", run: failing(checkPermanent)},
		{Name: "I2_DeadLetterCommitsWithTheRecord", run: failing(checkDeadLetter)},
		{Name: "I3_DeadLetterThatNoOutboxTakesIsParked", run: failing(checkNoDeadLetter)},
		{Name: "I2_CustomCommitsWithTheRecord", run: failing(checkCustom)},
		{Name: "I3_CustomThatFailsIsNotAcked", run: failing(checkCustomFails)},
		{Name: "I3_CustomAndRedrivenMayAck", run: failing(checkMayAck)},
		{Name: "I1_AnotherPolicyStaysBehindAParkedKey", run: failing(checkOtherPolicy)},
		{Name: "I11_MessageWithoutIDIsParked", run: failing(checkParkedWithoutID)},
		{Name: "I11_MessageWithAPositionIsParkedOnce", run: failing(checkParkedByPosition)},
	}
}

// checkParkedWhenAcked checks at the moment of the ack that the message is stored.
func checkParkedWhenAcked(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking())
	fail.If(failTwice(ctx, p))
	msg := newMessage(ctx, "a")
	seen := make(chan error, 1)
	go func() { seen <- errors.Join(await(ctx, "the ack", msg.Acked()), wantParked(ctx, s, "a")) }()
	fail.IfAny(wantDelivered(ctx, p, msg, inbox.OutcomeParked, nil, fails), <-seen)
}

func checkPermanent(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking())
	fail.IfAny(
		wantOutcome(ctx, p, "a", inbox.OutcomeParked, nil, func(context.Context) error { return inbox.Permanent(errHandler) }),
		wantOutcome(ctx, p, "a", inbox.OutcomeDuplicate, nil, writing(s, "never")),
		wantParked(ctx, s, "a"),
		wantEffects(ctx, s),
	)
}

func checkDeadLetter(ctx context.Context, s FailureSubject) {
	p := openFor(s, inbox.Policy{
		Action: inbox.DeadLetter, Attempts: attempts, Delay: inbox.NoDelay, Topic: "dead", Outbox: s.Outbox(),
	})
	fail.IfAny(
		failTwice(ctx, p),
		wantEnqueued(ctx, s),
		wantOutcome(ctx, p, "a", inbox.OutcomeDeadLettered, nil, fails),
		wantEnqueued(ctx, s, inbox.ChildID("a", consumer, "dead letter ")),
		wantRecorded(ctx, s, "a", true),
		wantOutcome(ctx, p, "a", inbox.OutcomeDuplicate, nil, writing(s, "never")),
		wantEffects(ctx, s),
	)
}

// bounded is an outbox with the default bounds instead of the subject's.
type bounded struct{ outbox.Enqueuer }

// EnqueueContext implements outbox.Enqueuer.
func (b bounded) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	prepared, err := outbox.Preparer{}.Prepare(ctx, msgs)
	if err != nil {
		return err
	}
	return b.Enqueuer.EnqueueContext(ctx, prepared...)
}

// checkNoDeadLetter gives up messages that an outbox refuses and that would otherwise be
// redelivered for ever. Later messages of their key continue. S5.
func checkNoDeadLetter(ctx context.Context, s FailureSubject) {
	p := openFor(s, inbox.Policy{
		Action: inbox.DeadLetter, Attempts: 1, Delay: inbox.NoDelay, Topic: "dead", Outbox: bounded{s.Outbox()},
	})
	large := newMessage(ctx, "large")
	large.Payload = bytes.Repeat([]byte("x"), outbox.DefaultMaxPayloadBytes+1)
	binary := newMessage(ctx, "binary")
	binary.Metadata.Set("binary", "\xff\x00")
	typed := newMessage(ctx, "typed")
	typed.Metadata.Set(outbox.HeaderEventType, strings.Repeat("t", outbox.MaxTypeBytes+1))
	fail.IfAny(
		wantDelivered(ctx, p, large, inbox.OutcomeParked, nil, fails),
		wantDelivered(ctx, p, binary, inbox.OutcomeParked, nil, fails),
		wantDelivered(ctx, p, typed, inbox.OutcomeParked, nil, fails),
		wantDelivered(ctx, p, delivery(ctx, "key", strings.Repeat("k", outbox.MaxKeyBytes+1)), inbox.OutcomeParked, nil, fails),
		wantParked(ctx, s, "large", "binary", "typed", "key"),
		wantDelivered(ctx, p, delivery(ctx, "next", strings.Repeat("k", outbox.MaxKeyBytes+1)), inbox.OutcomeCommitted, nil, writing(s, "next")),
		wantEnqueued(ctx, s),
		wantOutcome(ctx, p, "large", inbox.OutcomeDuplicate, nil, writing(s, "never")),
		wantEffects(ctx, s, "next"),
	)
}

func checkCustom(ctx context.Context, s FailureSubject) {
	var got inbox.Failure
	p := openFor(s, inbox.Policy{Action: inbox.Custom, Attempts: attempts, Delay: inbox.NoDelay, Handle: func(ctx context.Context, f inbox.Failure) error {
		got = f
		return s.Write(f.Message.Context(), "gave up "+f.ID)
	}})
	err := errors.Join(
		failTwice(ctx, p),
		wantOutcome(ctx, p, "a", inbox.OutcomeGivenUp, nil, fails),
		wantOutcome(ctx, p, "a", inbox.OutcomeDuplicate, nil, writing(s, "never")),
		wantEffects(ctx, s, "gave up a"),
	)
	if got.ID != "a" || !errors.Is(got.Err, errHandler) || got.History.Attempts != attempts || len(got.History.Errors) != attempts {
		err = errors.Join(err, fmt.Errorf("given up was %+v", got))
	}
	fail.If(err)
}

func checkCustomFails(ctx context.Context, s FailureSubject) {
	p := openFor(s, inbox.Policy{Action: inbox.Custom, Attempts: 1, Delay: inbox.NoDelay, Handle: func(ctx context.Context, _ inbox.Failure) error {
		return errors.Join(s.Write(ctx, "never"), errHandler)
	}})
	fail.IfAny(
		wantOutcome(ctx, p, "a", inbox.OutcomeFailed, inbox.ErrNotGivenUp, fails),
		wantRecorded(ctx, s, "a", false),
		wantEffects(ctx, s),
	)
}

// checkOtherPolicy changes the policy while a key is parked.
func checkOtherPolicy(ctx context.Context, s FailureSubject) {
	first := openFor(s, parking())
	second := openFor(s, inbox.Policy{
		Action: inbox.DeadLetter, Attempts: attempts, Delay: inbox.NoDelay, Topic: "dead", Outbox: s.Outbox(),
	})
	third := openFor(s, inbox.Policy{Delay: inbox.NoDelay})
	fail.If(park(ctx, first, "k1", "k"))
	fail.IfAny(
		wantDelivered(ctx, second, delivery(ctx, "k2", "k"), inbox.OutcomeParked, nil, writing(s, "never")),
		wantDelivered(ctx, third, delivery(ctx, "k3", "k"), inbox.OutcomeParked, nil, writing(s, "never")),
		wantDelivered(ctx, second, delivery(ctx, "l", "l"), inbox.OutcomeCommitted, nil, writing(s, "l")),
		wantDelivered(ctx, third, delivery(ctx, "m", "m"), inbox.OutcomeCommitted, nil, writing(s, "m")),
		wantParked(ctx, s, "k1", "k2", "k3"),
	)
	fail.IfAny(
		redriveUntil(ctx, s, third, "k", func(ctx context.Context, msg *message.Message) error { return s.Write(ctx, msg.UUID) },
			func() error { return wantEffects(ctx, s, "k1", "k2", "k3", "l", "m") }),
		wantDelivered(ctx, second, delivery(ctx, "k4", "k"), inbox.OutcomeCommitted, nil, writing(s, "k4")),
		wantDelivered(ctx, third, delivery(ctx, "k5", "k"), inbox.OutcomeCommitted, nil, writing(s, "k5")),
	)
}

// withoutID makes a policy include messages that have no id.
func withoutID(cfg *inbox.Config) { cfg.GiveUpWithoutID = true }

func checkParkedWithoutID(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking(), withoutID)
	fail.IfAny(
		wantOutcome(ctx, p, "", inbox.OutcomeParked, nil, writing(s, "never")),
		wantOutcome(ctx, p, "", inbox.OutcomeParked, nil, writing(s, "never")),
		wantParked(ctx, s, "", ""),
		redriveUntil(ctx, s, p, "", func(ctx context.Context, _ *message.Message) error { return s.Write(ctx, "nameless") },
			func() error { return wantEffects(ctx, s, "nameless", "nameless") }),
		wantParked(ctx, s),
	)
}

func checkParkedByPosition(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking(), withoutID)
	at := func(offset int64) *message.Message {
		return newMessage(driver.WithPosition(ctx, driver.Position{Source: "log", Offset: offset}), "")
	}
	process := func(msg *message.Message) error {
		_, err := p.Process(msg.Context(), msg, writing(s, "never"))
		return err
	}
	fail.IfAny(process(at(1)), process(at(1)), process(at(2)), process(at(1)), wantParked(ctx, s, "", ""))
}

// checkMayAck acks a message that is given up, and one that is redriven.
func checkMayAck(ctx context.Context, s FailureSubject) {
	custom := openFor(s, inbox.Policy{
		Action: inbox.Custom, Attempts: 1, Delay: inbox.NoDelay,
		Handle: func(ctx context.Context, f inbox.Failure) error {
			f.Message.Ack()
			return s.Write(ctx, f.ID)
		},
	})
	msg := newMessage(ctx, "a")
	outcome, err := custom.Process(ctx, msg, fails)
	if err != nil || outcome != inbox.OutcomeGivenUp {
		fail.With("outcome %s, error %w; want given_up", outcome, orNone(err))
	}
	p := openFor(s, parking())
	fail.IfAny(unsettled(msg), wantEffects(ctx, s, "a"), park(ctx, p, "b", "k"),
		redriveUntil(ctx, s, p, "k", func(ctx context.Context, msg *message.Message) error {
			msg.Ack()
			return s.Write(ctx, msg.UUID)
		}, func() error { return wantEffects(ctx, s, "a", "b") }),
	)
}
