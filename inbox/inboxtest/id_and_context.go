package inboxtest

import (
	"context"
	"errors"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/txctx"
)

// idAndContextChecks are about I11, an empty id is an error, and about things that a delivery
// must not change.
func idAndContextChecks() []Check {
	return []Check{
		{Name: "I11_EmptyIDIsAnError", run: checkEmptyID},
		{Name: "ContextIsRestored", run: checkContext},
		{Name: "ClaimWithACancelledContextFails", run: checkCancelledClaim},
	}
}

func checkEmptyID(ctx context.Context, s Subject) {
	p := open(s)
	for range 2 {
		fail.If(wantOutcome(ctx, p, "", inbox.OutcomeFailed, inbox.ErrNoMessageID, writing(s, "never")))
	}
	fail.IfAny(wantEffects(ctx, s), wantRecorded(ctx, s, "", false))
}

// checkContext looks into the message's context while the handler runs and after
// it: Watermill's Retry and PoisonQueue go on with what they find there.
func checkContext(ctx context.Context, s Subject) {
	p := open(s)
	for _, result := range []error{errHandler, nil} {
		msg := newMessage(ctx, "a")
		var err error
		_, _ = p.Process(ctx, msg, func(txCtx context.Context) error {
			if tx := txctx.From(msg.Context()); tx == nil || tx != txctx.From(txCtx) {
				err = errors.New("the message's context does not carry the handler's transaction")
			}
			replaced, cancel := context.WithCancel(txCtx)
			cancel()
			msg.SetContext(replaced)
			return result
		})
		fail.If(err)
		if msg.Context() != ctx {
			fail.With("the message's context is not restored after a handler that returned %w", orNone(result))
		}
	}
}

func checkCancelledClaim(ctx context.Context, s Subject) {
	p := open(s)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	var ran error
	err := wantOutcome(ended, p, "a", inbox.OutcomeFailed, context.Canceled, func(ctx context.Context) error {
		ran = errors.New("the handler runs although the claim has no time")
		return s.Write(ctx, "never")
	})
	fail.IfAny(
		err, ran,
		untilAcked(ctx, p, "a", writing(s, "a")),
		wantEffects(ctx, s, "a"),
	)
}
