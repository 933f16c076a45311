package twotier

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/outbox"
)

// processor is an inbox with caches in front.
type processor struct {
	in     *inbox.Processor
	cfg    Config
	scopes *scopes
	tiers  []*tier
}

// tier is a cache, and until when not to ask it.
type tier struct {
	Cache

	until atomic.Int64 // by clocks.Passed
}

// New returns a Runner that asks the caches of cfg before in, such as the Processor of a
// pginbox.Inbox. Messages are compared only by their ids: for messages that a cache knows, the
// inbox neither compares contents nor returns kept replies. If inbox.OutcomeDuplicate comes from
// a cache, the inbox and its hooks have not seen the message.
//
// The Runner is safe for concurrent use. It owns no goroutines and needs no Close; the caller
// owns inbox and caches. Errors wrap outbox.ErrInvalidConfig.
func New(in *inbox.Processor, cfg Config) (inbox.Runner, error) {
	if in == nil {
		return nil, outbox.ConfigError("in", nil, "must not be nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &processor{in: in, cfg: cfg, scopes: &scopes{read: cfg.Scope, timeout: time.Second}}
	if cfg.Memory > 0 {
		p.tiers = append(p.tiers, &tier{Cache: newMemory(cfg.Memory, cfg.MemoryTTL)})
	}
	if cfg.Shared != nil {
		p.tiers = append(p.tiers, &tier{Cache: cfg.Shared})
	}
	return p, nil
}

// OneHandler calls that of the inbox, for the middleware.
func (p *processor) OneHandler(name string) error { return p.in.OneHandler(name) }

// Process implements inbox.Runner.
func (p *processor) Process(
	ctx context.Context, msg *message.Message, handle func(ctx context.Context) error,
) (inbox.Outcome, error) {
	if err := p.OneHandler(message.HandlerNameFromCtx(ctx)); err != nil { // a cache would answer without asking it
		return inbox.OutcomeFailed, err
	}
	id, err := p.in.MessageID(msg) //nolint:contextcheck // asks in the context of the message
	if err != nil || id == "" {
		return p.in.Process(ctx, msg, handle) // which returns the right error
	}
	if p.skip(ctx, id) {
		return inbox.OutcomeDuplicate, nil
	}
	// The scope is from before the commit. If it has ended by then, it never comes back, and an
	// entry remembered under it is useless but harmless.
	scope, scopeErr := p.scopes.known(ctx)
	outcome, err := p.in.Process(ctx, msg, handle)
	if err == nil && scopeErr == nil && (outcome == inbox.OutcomeCommitted || outcome == inbox.OutcomeDuplicate) {
		p.remember(ctx, p.tiers, id, scope)
	}
	return outcome, err
}

// skip reports whether the message called id is known to be committed in the current scope.
func (p *processor) skip(ctx context.Context, id string) bool {
	e := LookEvent{Consumer: p.in.Consumer(), ID: id}
	for i, t := range p.tiers {
		scope := p.seen(ctx, t, id)
		if scope == "" {
			continue
		}
		e.Outlived = true
		now, err := p.scopes.now(ctx)
		if err == nil {
			err = basis.Same(basis.ErrOtherHistory, "scope", scope, now)
		}
		if err == nil {
			e.Skipped, e.Outlived = true, false
			p.remember(ctx, p.tiers[:i], id, scope)
		} else {
			p.cfg.Logger.DebugContext(ctx, "inbox cache is not believed",
				slog.String("consumer", e.Consumer), slog.String("message_id", id), slog.Any("error", err))
		}
		break
	}
	if len(p.cfg.Hooks) > 0 {
		hooks.Call(ctx, p.cfg.Logger, p.cfg.Hooks, func(h LookHook) { h.OnTwotierLook(ctx, e) })
	}
	return e.Skipped
}

func (p *processor) seen(ctx context.Context, t *tier, id string) (scope string) {
	p.call(ctx, t, "seen", func(ctx context.Context) (err error) {
		scope, err = t.Seen(ctx, p.in.Consumer(), id)
		if err != nil {
			scope = ""
		}
		return err
	})
	return scope
}

func (p *processor) remember(ctx context.Context, tiers []*tier, id, scope string) {
	for _, t := range tiers {
		p.call(ctx, t, "remember", func(ctx context.Context) error { return t.Remember(ctx, p.in.Consumer(), id, scope) })
	}
}

// call calls a cache, unless it failed a moment ago. It continues when the delivery's context has
// ended: a commit is worth remembering.
func (p *processor) call(ctx context.Context, t *tier, what string, f func(ctx context.Context) error) {
	if until := t.until.Load(); until != 0 && int64(clocks.Passed()) < until {
		return
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.CacheTimeout)
	defer cancel()
	if err := f(bounded); err != nil {
		t.until.Store(int64(clocks.Passed() + p.cfg.RetryAfter))
		p.cfg.Logger.WarnContext(ctx, "inbox cache failed, the database is asked instead",
			slog.String("consumer", p.in.Consumer()), slog.String("operation", what), slog.Any("error", err))
	}
}
