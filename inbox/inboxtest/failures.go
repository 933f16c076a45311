package inboxtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
)

// FailureSubject is a Subject whose inboxes count attempts, park and keep notes. They have
// the methods RunRedrive and ProcessReply of inbox.Processor.
type FailureSubject interface {
	Subject

	// Admin returns the operators' interface to all inboxes. Like Effects it needs no connection
	// of the inboxes.
	Admin() (admin.Inbox, error)
}

// redriver is an inbox of a FailureSubject.
type redriver interface {
	inbox.Runner

	RunRedrive(ctx context.Context, handle func(ctx context.Context, msg *message.Message) error) error
	ProcessReply(ctx context.Context, msg *message.Message, handle func(ctx context.Context) ([]byte, error)) ([]byte, inbox.Outcome, error)
}

// RunFailures runs the checks of failures that f does not rule out, in parallel, each on
// a new subject.
func RunFailures(t *testing.T, f Features, newSubject func(t *testing.T) FailureSubject) {
	t.Helper()
	runAll(t, FailureChecks(f), newSubject)
}

// FailureChecks returns the checks that RunFailures runs. They need a
// FailureSubject.
func FailureChecks(f Features) []Check {
	var all []Check
	for _, group := range [][]Check{attemptChecks(), giveUpChecks(), parkChecks(), hostileChecks(), redriveChecks(), noteChecks()} {
		all = append(all, possible(unless(noFailures, group...), f)...)
	}
	return all
}

// failing turns a function that needs a FailureSubject into a run function.
func failing(run func(ctx context.Context, s FailureSubject)) func(ctx context.Context, s Subject) {
	return func(ctx context.Context, s Subject) {
		f, ok := s.(FailureSubject)
		if !ok {
			fail.With("%T is not a FailureSubject", s)
		}
		run(ctx, f)
	}
}

// attempts is the number of attempts that the suite's policies allow.
const attempts = 3

// parking is a policy that does not keep the suite waiting.
func parking() inbox.Policy {
	return inbox.Policy{Action: inbox.Park, Attempts: attempts, Delay: inbox.NoDelay}
}

// openFor opens an inbox with a policy.
func openFor(s Subject, policy inbox.Policy, change ...func(cfg *inbox.Config)) redriver {
	cfg := inbox.Config{BusyDelay: 2 * time.Millisecond, RedrivePoll: 5 * time.Millisecond, OnFailure: policy}
	for _, c := range change {
		c(&cfg)
	}
	p, err := s.Open(consumer, cfg)
	fail.If(err)
	r, ok := p.(redriver)
	if !ok {
		fail.With("%T has no RunRedrive and ProcessReply", p)
	}
	return r
}

// delivery returns a delivery of a message with an ordering key.
func delivery(ctx context.Context, id, key string) *message.Message {
	msg := message.NewMessageWithContext(ctx, id, []byte("payload of "+id))
	msg.Metadata.Set(outbox.HeaderKey, key)
	return msg
}

// wantDelivered delivers msg once and compares.
func wantDelivered(
	ctx context.Context, p inbox.Runner, msg *message.Message, want inbox.Outcome, wantErr error, handle func(ctx context.Context) error,
) error {
	outcome, err := deliver(ctx, p, msg, handle)
	if outcome != want || !isOrNil(err, wantErr) {
		return fmt.Errorf("message %q: outcome %s, error %w; want %s, %w", msg.UUID, outcome, orNone(err), want, orNone(wantErr))
	}
	return nil
}

func fails(context.Context) error { return errHandler }
