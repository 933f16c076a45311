package middleware

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

// finder returns a function that finds the Processor of the handler that a context names. A
// middleware of Watermill does not know its handler before the first message arrives.
func finder(cfg InboxConfig) func(ctx context.Context) (inbox.Runner, error) {
	if cfg.For == nil {
		return func(context.Context) (inbox.Runner, error) { return cfg.Processor, nil }
	}
	f := &byHandler{make: cfg.For, made: map[string]inbox.Runner{}}
	return func(ctx context.Context) (inbox.Runner, error) { return f.find(message.HandlerNameFromCtx(ctx)) }
}

// byHandler keeps the Processor of each handler.
type byHandler struct {
	make func(handler string) (inbox.Runner, error)

	mu   sync.Mutex
	made map[string]inbox.Runner
}

func (b *byHandler) find(handler string) (inbox.Runner, error) {
	if handler == "" {
		return nil, errors.New("leat: InboxConfig.For needs Watermill's router, which names the handler; set Processor without one")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := b.made[handler]; ok {
		return p, nil
	}
	p, err := b.make(handler)
	if err == nil && p == nil {
		err = outbox.ConfigError("InboxConfig.For", nil, "must return a Processor or an error")
	}
	if err != nil {
		return nil, fmt.Errorf("leat: inbox of handler %.200q: %w", handler, err)
	}
	b.made[handler] = p
	return p, nil
}
