package inboxtest

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/middleware"
)

// atomicChecks are about I2: effects, the record and outgoing messages are one
// transaction.
func atomicChecks() []Check {
	return []Check{
		{Name: "I2_EffectsRecordAndMessagesCommitTogether", run: checkTogether, skip: needsOutbox},
		{Name: "I2_NothingIsVisibleBeforeTheCommit", run: checkInvisible},
		{Name: "I2_AFailedCommitKeepsNothing", run: checkFailedCommit, skip: func(f Features) bool {
			return needsOutbox(f) || needsBreakCommit(f)
		}},
		{Name: "I2_FailedEnqueueKeepsNothing", run: checkFailedEnqueue, skip: needsOutbox},
	}
}

// produce returns a handler that writes effect and returns a message called id.
func produce(s Subject, effect, id string) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		return []*message.Message{message.NewMessage(id, nil)}, s.Write(msg.Context(), effect)
	}
}

// route delivers one message called id through a router with mw to handle, until
// the message is acked once, or failed is called.
func route(ctx context.Context, mw message.HandlerMiddleware, id string, handle message.HandlerFunc) error {
	pubsub := gochannel.NewGoChannel(gochannel.Config{Persistent: true, BlockPublishUntilSubscriberAck: true}, nil)
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: 10 * time.Second}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	router.AddMiddleware(mw)
	router.AddHandler("handler", "in", pubsub, "out", neverPublisher{}, handle)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- router.Run(ctx) }()
	select {
	case <-router.Running():
	case <-ctx.Done():
	}
	return errors.Join(pubsub.Publish("in", newMessage(ctx, id)), router.Close(), <-stopped, pubsub.Close())
}

// neverPublisher is the publisher of a router that should have nothing to
// publish.
type neverPublisher struct{}

// Publish fails.
func (neverPublisher) Publish(topic string, _ ...*message.Message) error {
	return errors.New("inboxtest: the router published to " + topic)
}

// Close does nothing.
func (neverPublisher) Close() error { return nil }

func checkTogether(ctx context.Context, s Subject) {
	p := open(s)
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: p, Outbox: s.Outbox()})
	fail.If(err)
	fail.IfAny(
		route(ctx, once, "a", produce(s, "a", "child")),
		route(ctx, once, "a", produce(s, "again", "again")),
		wantEffects(ctx, s, "a"),
		wantRecorded(ctx, s, "a", true),
		wantEnqueued(ctx, s, "child"),
	)
}

func checkInvisible(ctx context.Context, s Subject) {
	p := open(s)
	var found error
	_, err := deliver(ctx, p, newMessage(ctx, "a"), func(txCtx context.Context) error {
		err := s.Write(txCtx, "a")
		found = errors.Join(wantEffects(ctx, s), wantRecorded(ctx, s, "a", false))
		return err
	})
	fail.IfAny(
		found, err,
		wantEffects(ctx, s, "a"),
		wantRecorded(ctx, s, "a", true),
	)
}

// checkFailedCommit also finds an inbox that commits in more than one step.
func checkFailedCommit(ctx context.Context, s Subject) {
	p := open(s)
	fail.If(untilAcked(ctx, p, "before", writing(s, "before")))
	s.BreakCommit(false)
	err := wantOutcome(ctx, p, "a", inbox.OutcomeUnknown, inbox.ErrCommitUnknown, func(ctx context.Context) error {
		return errors.Join(s.Write(ctx, "a"), enqueue(ctx, s, "child"))
	})
	fail.IfAny(
		err,
		wantEffects(ctx, s, "before"),
		wantRecorded(ctx, s, "a", false),
		wantEnqueued(ctx, s),
	)
}

func checkFailedEnqueue(ctx context.Context, s Subject) {
	p := open(s)
	for without, cfg := range map[string]middleware.InboxConfig{
		"an outbox": {Processor: p},
		"a topic":   {Processor: p, Outbox: s.Outbox()}, // newMessage comes through no router
	} {
		once, err := middleware.NewInbox(cfg)
		fail.If(err)
		_, err = once(produce(s, "a", "child"))(newMessage(ctx, "a"))
		if !errors.Is(err, middleware.ErrNoDestination) {
			fail.With("without %s: error %w, want %w", without, orNone(err), middleware.ErrNoDestination)
		}
	}
	fail.IfAny(wantEffects(ctx, s), wantRecorded(ctx, s, "a", false), wantEnqueued(ctx, s))
}
