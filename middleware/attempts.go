package middleware

import (
	"context"
	"errors"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/logger"
)

// ErrNoCounter is returned for every message by an Attempts without a Counter.
var ErrNoCounter = errors.New("leat: middleware.Attempts has no Counter")

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

// Attempts counts the deliveries of each message and tells the number to what
// stands inside, by AttemptFrom. It counts before the handler runs, so that a
// delivery that never comes back counts too. Errors that say nothing of the
// message (inbox.ShouldPoison), such as inbox.ErrBusy, are taken back.
//
// A counter that fails stops nothing: the message is processed, and its attempt
// is not known.
type Attempts struct {
	// Counter is required. NewMemoryAttempts returns one.
	Counter AttemptCounter

	// IDFrom finds the id of a message. One without an id is not counted.
	// Defaults to the Watermill UUID, then header event-id.
	IDFrom inbox.IDSource

	// Logger receives the failures of the counter. Defaults to slog.Default() as it is when
	// Middleware is called, warnings and errors only; slog.New(slog.DiscardHandler)
	// silences it.
	Logger *slog.Logger
}

type attemptKey struct{}

// AttemptFrom returns the number of the delivery that ctx belongs to, from 1,
// and false where none is known.
func AttemptFrom(ctx context.Context) (int, bool) {
	n, ok := ctx.Value(attemptKey{}).(int)
	return n, ok
}

// Middleware wraps h. It is safe for concurrent use.
func (a Attempts) Middleware(h message.HandlerFunc) message.HandlerFunc {
	if a.Counter == nil {
		return refuse(ErrNoCounter)
	}
	if a.IDFrom == nil {
		a.IDFrom = inbox.DefaultIDSource()
	}
	a.Logger = logger.Or(a.Logger)
	return func(msg *message.Message) ([]*message.Message, error) {
		id, err := a.IDFrom(msg)
		if err != nil || id == "" {
			return h(msg)
		}
		orig := msg.Context()
		id = message.HandlerNameFromCtx(orig) + "/" + id
		n, err := a.Counter.Add(orig, id)
		if err != nil {
			a.failed(orig, msg, err)
			return h(msg)
		}
		defer msg.SetContext(orig) // what stands outside is not inside the attempt
		msg.SetContext(context.WithValue(orig, attemptKey{}, n))
		produced, err := h(msg)
		if failed := a.after(context.WithoutCancel(orig), id, err); failed != nil {
			a.failed(orig, msg, failed)
		}
		return produced, err
	}
}

// after corrects the count by what came of the delivery.
func (a Attempts) after(ctx context.Context, id string, err error) error {
	switch {
	case err == nil:
		return a.Counter.Forget(ctx, id)
	case !inbox.ShouldPoison(err):
		return a.Counter.Sub(ctx, id)
	default:
		return nil
	}
}

func (a Attempts) failed(ctx context.Context, msg *message.Message, err error) {
	a.Logger.WarnContext(ctx, "attempts are not counted", slog.String("message_id", msg.UUID), slog.Any("error", err))
}
