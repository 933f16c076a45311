package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/wait"
)

// consumer is the name that checks use if one consumer is enough.
const consumer = "tester"

// errHandler is the error of failing handlers.
var errHandler = errors.New("inboxtest: the handler fails")

// open returns an inbox that does not keep the suite waiting.
func open(s Subject) inbox.Runner {
	p, err := s.Open(consumer, inbox.Config{BusyDelay: 2 * time.Millisecond, OnFailure: inbox.Policy{Delay: time.Millisecond}})
	fail.If(err)
	return p
}

// newMessage returns a delivery of the message called id.
func newMessage(ctx context.Context, id string) *message.Message {
	return message.NewMessageWithContext(ctx, id, nil)
}

// deliver does what a router does with one delivery: it acks or nacks by the
// error.
func deliver(ctx context.Context, p inbox.Runner, msg *message.Message, handle func(ctx context.Context) error) (inbox.Outcome, error) {
	outcome, err := p.Process(ctx, msg, handle)
	if err != nil {
		msg.Nack()
		return outcome, err
	}
	msg.Ack()
	return outcome, nil
}

// untilAcked does what a broker does: it delivers until the message is acked.
func untilAcked(ctx context.Context, p inbox.Runner, id string, handle func(ctx context.Context) error) error {
	for {
		_, err := deliver(ctx, p, newMessage(ctx, id), handle)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("message %s is still not acked: %w", id, err)
		}
		if err := wait.For(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

// probe delivers the message called id once, to a handler that runs look and writes the id as the
// effect. It returns the result of look, even if the inbox changes or hides the error.
func probe(ctx context.Context, s Subject, p inbox.Runner, id string, look func() error) error {
	var found error
	_, err := deliver(ctx, p, newMessage(ctx, id), func(txCtx context.Context) error {
		found = look()
		return s.Write(txCtx, id)
	})
	return errors.Join(found, err)
}

// writing returns a handler that writes effect.
func writing(s Subject, effect string) func(ctx context.Context) error {
	return func(ctx context.Context) error { return s.Write(ctx, effect) }
}

// wantOutcome delivers once and compares.
func wantOutcome(
	ctx context.Context, p inbox.Runner, id string, want inbox.Outcome, wantErr error, handle func(ctx context.Context) error,
) error {
	outcome, err := deliver(ctx, p, newMessage(ctx, id), handle)
	if outcome != want || !errors.Is(err, wantErr) {
		return fmt.Errorf("message %s: outcome %s, error %w; want %s, %w", id, outcome, orNone(err), want, orNone(wantErr))
	}
	return nil
}

var errNone = errors.New("none")

func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

// wantEffects compares what is committed, as multisets.
func wantEffects(
	ctx context.Context, s interface {
		Effects(ctx context.Context) ([]string, error)
	}, want ...string,
) error {
	got, err := s.Effects(ctx)
	if err != nil {
		return err
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("committed effects are %q, want %q", got, want)
	}
	return nil
}

func wantRecorded(ctx context.Context, s Subject, id string, want bool) error {
	got, err := s.Recorded(ctx, consumer, id)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("message %s recorded: %t, want %t", id, got, want)
	}
	return nil
}

func wantEnqueued(ctx context.Context, s Subject, want ...string) error {
	got, err := s.Enqueued(ctx)
	if err != nil {
		return err
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("enqueued messages are %q, want %q", got, want)
	}
	return nil
}

// await waits for an event, at most until ctx ends.
func await(ctx context.Context, what string, event <-chan struct{}) error {
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
	}
}
