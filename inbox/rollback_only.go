package inbox

import (
	"context"
	"fmt"
	"sync"
)

// MarkRollbackOnly makes sure that the delivery whose handler got ctx does not
// commit, even if an error is swallowed on its way out, as Watermill's
// IgnoreErrors and the CQRS processor's AckCommandHandlingErrors do. Process
// then returns an error that wraps ErrRollbackOnly, and cause, which may be nil.
// The first call counts. With another context it does nothing.
//
// middleware.RollbackOnError calls it for every error of a handler. In CQRS, if the error does
// not reach the router, call it in OnHandle:
//
//	OnHandle: func(p cqrs.CommandProcessorOnHandleParams) error {
//		err := p.Handler.Handle(p.Message.Context(), p.Command)
//		if err != nil {
//			inbox.MarkRollbackOnly(p.Message.Context(), err)
//		}
//		return err
//	},
func MarkRollbackOnly(ctx context.Context, cause error) {
	if m, ok := ctx.Value(markKey{}).(*mark); ok {
		m.set(cause)
	}
}

type markKey struct{}

// mark is a delivery's flag. The handler may set it from any goroutine.
type mark struct {
	mu    sync.Mutex
	isSet bool
	cause error
}

// handlerContext is the context of one call of a handler.
type handlerContext struct {
	context.Context //nolint:containedctx // it is one

	mark mark
}

// Value implements context.Context.
func (c *handlerContext) Value(key any) any {
	if key == (markKey{}) {
		return &c.mark
	}
	return c.Context.Value(key)
}

func (m *mark) set(cause error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.isSet {
		m.isSet, m.cause = true, cause
	}
}

// err returns the error of a delivery that is marked, or nil.
func (m *mark) err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !m.isSet:
		return nil
	case m.cause == nil:
		return ErrRollbackOnly
	default:
		return fmt.Errorf("%w: %w", ErrRollbackOnly, m.cause)
	}
}
