package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox"
)

// Metadata that DeadLetter adds to a message.
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

var (
	// ErrNoDeadLetter is returned for every message by a DeadLetter without a
	// Publisher or a Topic.
	ErrNoDeadLetter = errors.New("leat: middleware.DeadLetter needs a Publisher and a Topic")

	// ErrNoAttempts is returned beside the handler's error by a DeadLetter with
	// After that has no Attempts outside.
	ErrNoAttempts = errors.New("leat: middleware.DeadLetter.After needs middleware.Attempts outside")
)

// DeadLetter publishes messages that a handler cannot process to another topic,
// so that the key goes on without them. The message keeps its id, its payload
// and its metadata, and says in addition why it is there. It is acknowledged
// only once it is published; if that fails it comes again. Since it was not
// processed, no inbox remembers it: sent back to its topic it runs.
//
// It stands outside Inbox. Unlike Watermill's PoisonQueue it publishes also when
// the message's context has ended, as that of one that took too long.
type DeadLetter struct {
	// Publisher publishes to the topic. Required. It should be synchronous: what it
	// has only buffered is acknowledged, and lost in a crash.
	Publisher message.Publisher

	// Topic is the topic of dead letters. Required.
	Topic string

	// InTx runs the publishing in a transaction that it puts into the context, for
	// a Publisher that enqueues in an outbox. Defaults to none.
	InTx func(ctx context.Context, publish func(ctx context.Context) error) error

	// Should says whether an error speaks against the message.
	// Defaults to inbox.ShouldPoison.
	Should func(err error) bool

	// After is the number of deliveries after which a message is given up. It needs
	// Attempts outside. Defaults to 1: at its first failure.
	After int

	// Timeout bounds the publishing, as far as the Publisher heeds the message's
	// context. Defaults to 10 s.
	Timeout time.Duration

	// Logger receives what was given up. Defaults to slog.Default() as it is when
	// Middleware is called, warnings and errors only; slog.New(slog.DiscardHandler)
	// silences it.
	Logger *slog.Logger
}

// Middleware wraps h. It is safe for concurrent use.
func (d DeadLetter) Middleware(h message.HandlerFunc) message.HandlerFunc {
	switch {
	case d.Publisher == nil || d.Topic == "":
		return refuse(ErrNoDeadLetter)
	case d.Timeout < 0:
		return refuse(outbox.ConfigError("DeadLetter.Timeout", d.Timeout, "must not be negative"))
	case d.After < 0:
		return refuse(outbox.ConfigError("DeadLetter.After", d.After, "must not be negative"))
	}
	if d.Should == nil {
		d.Should = inbox.ShouldPoison
	}
	if d.Timeout == 0 {
		d.Timeout = 10 * time.Second
	}
	d.Logger = logger.Or(d.Logger)
	return func(msg *message.Message) ([]*message.Message, error) {
		ctx := msg.Context() // the handler may replace it
		produced, err := h(msg)
		if err == nil || !d.Should(err) {
			return produced, err
		}
		attempt, counted := AttemptFrom(ctx)
		switch {
		case d.After > 1 && !counted:
			return nil, errors.Join(err, ErrNoAttempts)
		case attempt < d.After && counted:
			return nil, err
		}
		if lost := d.publish(ctx, msg, err); lost != nil {
			return nil, errors.Join(err, fmt.Errorf("leat: dead letter: %w", lost))
		}
		d.Logger.WarnContext(ctx, "message given up as a dead letter", slog.String("message_id", msg.UUID),
			slog.String("topic", d.Topic), slog.Any("error", err))
		return nil, nil
	}
}

// publish goes on when the delivery's context has ended.
func (d DeadLetter) publish(ctx context.Context, msg *message.Message, reason error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.Timeout)
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
		return d.Publisher.Publish(d.Topic, dead)
	}
	if d.InTx == nil {
		return publish(ctx)
	}
	return d.InTx(ctx, publish)
}
