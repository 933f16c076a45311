package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/storable"
)

// Metadata that NewDeadLetter's middleware adds to a message.
const (
	// HeaderDeadReason is the error, at most 2,000 bytes of it.
	HeaderDeadReason = "dead_letter_reason"
	// HeaderDeadTopic is the topic that the message came from.
	HeaderDeadTopic = "dead_letter_topic"
	// HeaderDeadHandler is the name of the handler that failed.
	HeaderDeadHandler = "dead_letter_handler"
	// HeaderDeadTime is when, as RFC 3339 in UTC, by the consumer's clock.
	HeaderDeadTime = "dead_letter_time"
	// HeaderDeadAttempts is the number of deliveries, where Attempts counts them.
	HeaderDeadAttempts = "dead_letter_attempts"
)

// maxReasonBytes bounds HeaderDeadReason.
const maxReasonBytes = 2000

// NewDeadLetter returns a middleware that publishes messages that a handler cannot
// process to another topic, so that the key goes on without them. The message keeps its
// id, its payload and its metadata, and says in addition why it is there. It is
// acknowledged only once it is published; if that fails it comes again. Since it was not
// processed, no inbox remembers it: sent back to its topic it runs.
//
// It stands outside Inbox. Unlike Watermill's PoisonQueue it publishes also when
// the message's context has ended, as that of one that took too long.
//
// It is safe for concurrent use. Errors wrap outbox.ErrInvalidConfig.
func NewDeadLetter(cfg DeadLetterConfig) (message.HandlerMiddleware, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return deadLetter{cfg.withDefaults()}.middleware, nil
}

type deadLetter struct{ cfg DeadLetterConfig }

func (d deadLetter) middleware(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		ctx := msg.Context() // the handler may replace it
		if d.cfg.After > 1 && !attemptsAround(ctx) {
			return nil, fmt.Errorf("%w: DeadLetterConfig.After = %d needs NewAttempts outside", ErrMisplaced, d.cfg.After)
		}
		produced, err := h(msg)
		if err == nil || !d.cfg.Should(err) {
			return produced, err
		}
		if attempt, _ := AttemptFrom(ctx); d.cfg.After > 1 && attempt < d.cfg.After { // 0 if it is not known
			return nil, err
		}
		if lost := d.publish(ctx, msg, err); lost != nil {
			return nil, errors.Join(err, fmt.Errorf("leat: dead letter: %w", lost))
		}
		d.cfg.Logger.WarnContext(ctx, "message given up as a dead letter", slog.String("message_id", msg.UUID),
			slog.String("topic", d.cfg.Topic), slog.Any("error", err))
		return nil, nil
	}
}

// publish goes on when the delivery's context has ended.
func (d deadLetter) publish(ctx context.Context, msg *message.Message, reason error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.Timeout)
	defer cancel()
	dead := msg.Copy()
	set := func(name, value string) {
		if value != "" {
			dead.Metadata.Set(name, value)
		}
	}
	set(HeaderDeadReason, storable.AtMost(reason.Error(), maxReasonBytes))
	set(HeaderDeadTopic, message.SubscribeTopicFromCtx(ctx))
	set(HeaderDeadHandler, message.HandlerNameFromCtx(ctx))
	set(HeaderDeadTime, time.Now().UTC().Format(time.RFC3339Nano))
	if attempt, ok := AttemptFrom(ctx); ok {
		set(HeaderDeadAttempts, strconv.Itoa(attempt))
	}
	publish := func(ctx context.Context) error {
		dead.SetContext(ctx)
		return d.cfg.Publisher.Publish(d.cfg.Topic, dead)
	}
	if d.cfg.InTx == nil {
		return publish(ctx)
	}
	return d.cfg.InTx(ctx, publish)
}
