package meminbox

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/wait"
)

// process is the Process of an inbox.
type process func(ctx context.Context, msg *message.Message, handle func(ctx context.Context) error) (inbox.Outcome, error)

func (p process) Process(ctx context.Context, msg *message.Message, handle func(ctx context.Context) error) (inbox.Outcome, error) {
	return p(ctx, msg, handle)
}

func onProcess(broken func(p *inbox.Processor) process) func(c *control) {
	return func(c *control) {
		c.processor = func(p *inbox.Processor) inbox.Runner { return broken(p) }
	}
}

// brokenProcessors are engines that do not keep to the order of things.
func brokenProcessors() []negative {
	return []negative{
		{"what may not be committed is acked", onProcess(ackUnknown), map[string]string{
			"I3_NoAckWithoutCommit": "the message is acked and its effect is lost",
		}},
		{"ack, then commit", onProcess(ackFirst), map[string]string{
			"I3_CommittedWhenAcked": "committed effects are []",
		}},
		{"what is acked is not the message that was delivered", onProcess(onCopies), map[string]string{
			"I3_EarlyAckIsRefused":  "outcome committed",
			"I3_EarlyNackIsRefused": "outcome committed",
			"ContextIsRestored":     "does not carry the handler's transaction",
		}},
		{"nobody asks whose messages are remembered", onProcess(onCopies), map[string]string{
			"N1_TwoFunctionsOfOneInbox": "error none, want",
		}},
		{"a handler's ack reaches the broker", func(c *control) {
			c.processor = func(p *inbox.Processor) inbox.Runner { return acksInside{p} }
		}, map[string]string{
			"I3_HandlersAckReachesNobody": "the message is acked",
			"I3_CustomAndRedrivenMayAck":  "want given_up",
		}},
		{"a handler's nack is not looked at", onProcess(swallows), map[string]string{
			"I3_HandlersNackUndoes": "error none, want",
		}},
		{"the handler's context stays", onProcess(leavesContext), map[string]string{
			"ContextIsRestored": "is not restored",
		}},
		{"an empty id is an id", onProcess(emptyID), map[string]string{
			"I11_EmptyIDIsAnError": "outcome committed",
		}},
	}
}

func ackUnknown(p *inbox.Processor) process {
	return func(ctx context.Context, msg *message.Message, handle func(ctx context.Context) error) (inbox.Outcome, error) {
		outcome, err := p.Process(ctx, msg, handle)
		if errors.Is(err, inbox.ErrCommitUnknown) {
			err = nil
		}
		return outcome, err
	}
}

func ackFirst(p *inbox.Processor) process {
	return func(ctx context.Context, msg *message.Message, handle func(ctx context.Context) error) (inbox.Outcome, error) {
		go func() {
			<-msg.Acked()
			_ = wait.For(ctx, time.Second)
			_, _ = p.Process(ctx, msg.CopyWithContext(), handle)
		}()
		return inbox.OutcomeCommitted, nil
	}
}

func onCopies(p *inbox.Processor) process {
	return func(ctx context.Context, msg *message.Message, handle func(ctx context.Context) error) (inbox.Outcome, error) {
		return p.Process(ctx, msg.CopyWithContext(), handle)
	}
}

// acksInside is an inbox that can redrive, too.
type acksInside struct{ *inbox.Processor }

func (p acksInside) Process(ctx context.Context, msg *message.Message, handle func(ctx context.Context) error) (inbox.Outcome, error) {
	return p.Processor.Process(ctx, msg, func(ctx context.Context) error {
		defer msg.Ack()
		return handle(ctx)
	})
}

func swallows(p *inbox.Processor) process {
	return func(ctx context.Context, msg *message.Message, handle func(ctx context.Context) error) (inbox.Outcome, error) {
		return p.Process(ctx, msg, func(ctx context.Context) error {
			_ = handle(ctx)
			return nil
		})
	}
}

func leavesContext(p *inbox.Processor) process {
	return func(ctx context.Context, msg *message.Message, handle func(ctx context.Context) error) (inbox.Outcome, error) {
		outcome, err := p.Process(ctx, msg, handle)
		msg.SetContext(context.WithoutCancel(ctx))
		return outcome, err
	}
}

func emptyID(p *inbox.Processor) process {
	return func(ctx context.Context, msg *message.Message, handle func(ctx context.Context) error) (inbox.Outcome, error) {
		if msg.UUID == "" {
			msg.UUID = "nobody"
		}
		return p.Process(ctx, msg, handle)
	}
}
