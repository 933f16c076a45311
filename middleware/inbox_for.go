package middleware

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// ErrNoHandlerName is returned by an Inbox with For for a message that did not come
// through Watermill's router: its context names no handler.
var ErrNoHandlerName = errors.New("leat: middleware.Inbox.For needs a message of Watermill's router, which names the handler")

// finder returns what finds the Processor of the handler that a context names.
func (i Inbox) finder() func(ctx context.Context) (Processor, error) {
	switch {
	case i.Processor != nil && i.For != nil:
		err := outbox.ConfigError("Inbox.For", "set", "Processor is set as well")
		return func(context.Context) (Processor, error) { return nil, err }
	case i.For != nil:
		f := &byHandler{make: i.For, made: map[string]Processor{}}
		return func(ctx context.Context) (Processor, error) { return f.find(message.HandlerNameFromCtx(ctx)) }
	case i.Processor == nil:
		return func(context.Context) (Processor, error) { return nil, ErrNoProcessor }
	default:
		return func(context.Context) (Processor, error) { return i.Processor, nil }
	}
}

// byHandler keeps the Processor of each handler.
type byHandler struct {
	make func(handler string) (Processor, error)

	mu   sync.Mutex
	made map[string]Processor
}

func (b *byHandler) find(handler string) (Processor, error) {
	if handler == "" {
		return nil, ErrNoHandlerName
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := b.made[handler]; ok {
		return p, nil
	}
	p, err := b.make(handler)
	if err == nil && p == nil {
		err = ErrNoProcessor
	}
	if err != nil {
		return nil, fmt.Errorf("leat: inbox of handler %.200q: %w", handler, err)
	}
	b.made[handler] = p
	return p, nil
}
