package inboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
)

// noteChecks are about I10: the note that is kept with an id.
func noteChecks() []Check {
	return []Check{
		{Name: "I10_MismatchIsNotAcked", run: failing(checkMismatch)},
		{Name: "I10_MismatchIsParked", run: failing(checkMismatchParked)},
		{Name: "I10_ReplyIsReplayed", run: failing(checkReply)},
	}
}

func fingerprints(cfg *inbox.Config) { cfg.Fingerprint = inbox.FingerprintPayload }

// withPayload returns a delivery of a message called a.
func withPayload(ctx context.Context, payload string) *message.Message {
	return message.NewMessageWithContext(ctx, "a", []byte(payload))
}

func checkMismatch(ctx context.Context, s FailureSubject) {
	p := openFor(s, inbox.Policy{Delay: inbox.NoDelay}, fingerprints)
	fail.IfAny(
		wantDelivered(ctx, p, withPayload(ctx, "one"), inbox.OutcomeFailed, errHandler, fails),
		wantDelivered(ctx, p, withPayload(ctx, "other"), inbox.OutcomeCommitted, nil, writing(s, "a")),
		wantDelivered(ctx, p, withPayload(ctx, "other"), inbox.OutcomeDuplicate, nil, writing(s, "never")),
		wantDelivered(ctx, p, withPayload(ctx, "one"), inbox.OutcomeFailed, inbox.ErrFingerprintMismatch, writing(s, "never")),
		wantDelivered(ctx, p, withPayload(ctx, "one"), inbox.OutcomeFailed, inbox.ErrFingerprintMismatch, writing(s, "never")),
		wantEffects(ctx, s, "a"),
	)
}

// checkMismatchParked parks each payload once, however often it comes.
func checkMismatchParked(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking(), fingerprints)
	fail.IfAny(
		wantDelivered(ctx, p, withPayload(ctx, "one"), inbox.OutcomeCommitted, nil, writing(s, "a")),
		wantDelivered(ctx, p, withPayload(ctx, "two"), inbox.OutcomeParked, nil, writing(s, "never")),
		wantDelivered(ctx, p, withPayload(ctx, "two"), inbox.OutcomeDuplicate, nil, writing(s, "never")),
		wantDelivered(ctx, p, withPayload(ctx, "three"), inbox.OutcomeParked, nil, writing(s, "never")),
		wantParked(ctx, s, "a", "a"),
		wantEffects(ctx, s, "a"),
	)
}

func checkReply(ctx context.Context, s FailureSubject) {
	p := openFor(s, inbox.Policy{Delay: inbox.NoDelay}, func(cfg *inbox.Config) { cfg.KeepReplies = true })
	reply := func(text string, err error) func(ctx context.Context) ([]byte, error) {
		return func(ctx context.Context) ([]byte, error) { return []byte(text), errors.Join(s.Write(ctx, text), err) }
	}
	want := func(text string, outcome inbox.Outcome, handle func(ctx context.Context) ([]byte, error), wantErr error) error {
		got, end, err := p.ProcessReply(ctx, newMessage(ctx, "a"), handle)
		if string(got) != text || end != outcome || !isOrNil(err, wantErr) {
			return fmt.Errorf("reply %q, outcome %s, error %w; want %q, %s, %w", got, end, orNone(err), text, outcome, orNone(wantErr))
		}
		return nil
	}
	fail.IfAny(
		want("", inbox.OutcomeFailed, reply("never", errHandler), errHandler),
		want("hello", inbox.OutcomeCommitted, reply("hello", nil), nil),
		want("hello", inbox.OutcomeDuplicate, reply("never", nil), nil),
		wantEffects(ctx, s, "hello"),
	)
}
