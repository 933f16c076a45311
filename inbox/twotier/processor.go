package twotier

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/outbox"
)

// Inbox is the inbox behind the caches: an *inbox.Processor, or a type that embeds one.
type Inbox interface {
	// Consumer returns the name that messages are remembered by.
	Consumer() string
	// Process is inbox.Processor's.
	Process(ctx context.Context, msg *message.Message, handle func(ctx context.Context) error) (inbox.Outcome, error)
}

// oneHandler is an Inbox that notices when two handlers share it.
type oneHandler interface {
	OneHandler(name string) error
}

var _ oneHandler = (*inbox.Processor)(nil)

// Processor is an inbox with caches in front. It is safe for concurrent use, owns
// no goroutines and needs no Close; inbox and caches are the caller's.
type Processor struct {
	in     Inbox
	cfg    Config
	scopes *scopes
	tiers  []*tier
}

// tier is a cache and when to leave it alone.
type tier struct {
	Cache

	until atomic.Int64 // Unix nanoseconds
}

// New returns a Processor that asks the caches of cfg before in. Messages are compared by
// their ids alone: if the inbox compares contents or keeps replies, it does neither for
// messages that a cache knows. Errors wrap outbox.ErrInvalidConfig.
func New(in Inbox, cfg Config) (*Processor, error) {
	if in == nil {
		return nil, outbox.ConfigError("in", nil, "must not be nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &Processor{in: in, cfg: cfg, scopes: &scopes{read: cfg.Scope, timeout: time.Second}}
	if cfg.Memory > 0 {
		p.tiers = append(p.tiers, &tier{Cache: newMemory(cfg.Memory, cfg.MemoryTTL)})
	}
	if cfg.Shared != nil {
		p.tiers = append(p.tiers, &tier{Cache: cfg.Shared})
	}
	return p, nil
}

// Consumer returns the inbox's consumer.
func (p *Processor) Consumer() string {
	return p.in.Consumer()
}

// OneHandler is the inbox's: nil if the inbox has no such method.
func (p *Processor) OneHandler(name string) error {
	if one, ok := p.in.(oneHandler); ok {
		return one.OneHandler(name)
	}
	return nil
}

// Process runs handle for msg unless msg was processed before, as the inbox's Process
// does. inbox.OutcomeDuplicate may come from a cache; then the inbox and its hooks have
// not seen the message.
func (p *Processor) Process(
	ctx context.Context, msg *message.Message, handle func(ctx context.Context) error,
) (inbox.Outcome, error) {
	if err := p.OneHandler(message.HandlerNameFromCtx(ctx)); err != nil { // a cache would answer without asking it
		return inbox.OutcomeFailed, err
	}
	id, err := p.cfg.IDFrom(msg)
	if err != nil || id == "" {
		return p.in.Process(ctx, msg, handle) // which knows what to say
	}
	if p.skip(ctx, id) {
		return inbox.OutcomeDuplicate, nil
	}
	// The scope is one from before the commit. If it is over by then, it never
	// comes back, and what is remembered under it is of no use, and no harm.
	scope, scopeErr := p.scopes.known(ctx)
	outcome, err := p.in.Process(ctx, msg, handle)
	if err == nil && scopeErr == nil && (outcome == inbox.OutcomeCommitted || outcome == inbox.OutcomeDuplicate) {
		p.remember(ctx, p.tiers, id, scope)
	}
	return outcome, err
}

// skip reports whether the message called id is known to be committed in the scope
// that is current.
func (p *Processor) skip(ctx context.Context, id string) bool {
	outcome := Missed
	for i, t := range p.tiers {
		scope := p.seen(ctx, t, id)
		if scope == "" {
			continue
		}
		outcome = Outlived
		if now, err := p.scopes.now(ctx); err == nil && now == scope {
			outcome = Skipped
			p.remember(ctx, p.tiers[:i], id, scope)
		}
		break
	}
	if len(p.cfg.Hooks) > 0 {
		e := LookEvent{Consumer: p.Consumer(), ID: id, Outcome: outcome}
		hooks.Call(ctx, p.cfg.Logger, p.cfg.Hooks, func(h LookHook) { h.OnTwotierLook(ctx, e) })
	}
	return outcome == Skipped
}

func (p *Processor) seen(ctx context.Context, t *tier, id string) (scope string) {
	p.call(ctx, t, "seen", func(ctx context.Context) (err error) {
		scope, err = t.Seen(ctx, p.Consumer(), id)
		if err != nil {
			scope = ""
		}
		return err
	})
	return scope
}

func (p *Processor) remember(ctx context.Context, tiers []*tier, id, scope string) {
	for _, t := range tiers {
		p.call(ctx, t, "remember", func(ctx context.Context) error { return t.Remember(ctx, p.Consumer(), id, scope) })
	}
}

// call calls a cache, unless it failed a moment ago. It goes on when the
// delivery's context has ended: what is committed is worth remembering.
func (p *Processor) call(ctx context.Context, t *tier, what string, f func(ctx context.Context) error) {
	if time.Now().UnixNano() < t.until.Load() {
		return
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.CacheTimeout)
	defer cancel()
	if err := f(bounded); err != nil {
		t.until.Store(time.Now().Add(p.cfg.RetryAfter).UnixNano())
		p.cfg.Logger.WarnContext(ctx, "inbox cache failed, the database is asked instead",
			slog.String("consumer", p.Consumer()), slog.String("operation", what), slog.Any("error", err))
	}
}
