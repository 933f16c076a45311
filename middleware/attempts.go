package middleware

import (
	"context"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// AttemptCounter counts deliveries. Ids are those of messages with the name of
// the handler before it. Implementations are safe for concurrent use.
type AttemptCounter interface {
	// Add counts one more delivery of id and returns their number, from 1.
	Add(ctx context.Context, id string) (int, error)
	// Sub takes one back that turned out to be none.
	Sub(ctx context.Context, id string) error
	// Forget ends the counting of id, which was acknowledged.
	Forget(ctx context.Context, id string) error
}

// AttemptsConfig tunes NewAttempts. Counter is required.
type AttemptsConfig struct {
	// Counter counts. NewMemoryAttempts returns one. Required.
	Counter AttemptCounter

	// IDFrom finds the id of a message. One without an id is not counted.
	// Defaults to the Watermill UUID, then header event-id.
	IDFrom inbox.IDSource

	// Logger receives the failures of the counter. Defaults to slog.Default() as of
	// NewAttempts, warnings and errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

func (c AttemptsConfig) withDefaults() AttemptsConfig {
	if c.IDFrom == nil {
		c.IDFrom = inbox.DefaultIDSource()
	}
	c.Logger = logger.Or(c.Logger)
	return c
}

// NewAttempts returns a middleware that counts the deliveries of each message and
// tells the number to what stands inside, by AttemptFrom. It counts before the handler
// runs, so that a delivery that never comes back counts too. Errors that say nothing of
// the message (inbox.ShouldPoison), such as inbox.ErrBusy, are taken back.
//
// A counter that fails stops nothing: the message is processed, and its attempt
// is not known.
//
// The middleware is safe for concurrent use. Errors wrap outbox.ErrInvalidConfig.
func NewAttempts(cfg AttemptsConfig) (message.HandlerMiddleware, error) {
	if cfg.Counter == nil {
		return nil, outbox.ConfigError("AttemptsConfig.Counter", nil, "is required")
	}
	return attempts{cfg.withDefaults()}.middleware, nil
}

type attempts struct{ cfg AttemptsConfig }

type attemptKey struct{}

// AttemptFrom returns the number of the delivery that ctx belongs to, from 1,
// and false where none is known.
func AttemptFrom(ctx context.Context) (int, bool) {
	n, _ := ctx.Value(attemptKey{}).(int) // 0 if Attempts could not count it
	return n, n > 0
}

// attemptsAround reports whether Attempts stands around what ctx belongs to, even if
// this delivery could not be counted.
func attemptsAround(ctx context.Context) bool {
	_, around := ctx.Value(attemptKey{}).(int)
	return around
}

func (a attempts) middleware(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		orig := msg.Context()
		id, n := a.count(msg)
		defer msg.SetContext(orig) // what stands outside is not inside the attempt
		msg.SetContext(context.WithValue(orig, attemptKey{}, n))
		produced, err := h(msg)
		if n == 0 {
			return produced, err
		}
		if failed := a.after(context.WithoutCancel(orig), id, err); failed != nil {
			a.failed(orig, msg, failed)
		}
		return produced, err
	}
}

// count counts the delivery of msg. It returns the id that it is counted by, and 0 if
// it cannot be counted.
func (a attempts) count(msg *message.Message) (id string, n int) {
	id, err := a.cfg.IDFrom(msg)
	if err != nil || id == "" {
		return "", 0
	}
	ctx := msg.Context()
	id = message.HandlerNameFromCtx(ctx) + "/" + id
	if n, err = a.cfg.Counter.Add(ctx, id); err != nil {
		a.failed(ctx, msg, err)
		return id, 0
	}
	return id, n
}

// after corrects the count by what came of the delivery.
func (a attempts) after(ctx context.Context, id string, err error) error {
	switch {
	case err == nil:
		return a.cfg.Counter.Forget(ctx, id)
	case !inbox.ShouldPoison(err):
		return a.cfg.Counter.Sub(ctx, id)
	default:
		return nil
	}
}

func (a attempts) failed(ctx context.Context, msg *message.Message, err error) {
	a.cfg.Logger.WarnContext(ctx, "attempts are not counted", slog.String("message_id", msg.UUID), slog.Any("error", err))
}
