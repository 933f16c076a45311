package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// SamplerConfig tunes a Sampler. At least one outbox or inbox is required.
type SamplerConfig struct {
	// Outboxes and Inboxes are the stores to sample, by the values of their labels "outbox" and
	// "inbox".
	Outboxes map[string]admin.Outbox
	Inboxes  map[string]inboxadmin.Inbox

	// Interval is the time between two samples of a store, jittered by a tenth; at least 1 s.
	// Defaults to 15 s.
	Interval time.Duration

	// Timeout bounds the calls of one store in one sample. Defaults to 5 s.
	Timeout time.Duration

	// Logger receives errors of stores. Defaults to slog.Default() as of NewSampler, warnings
	// and errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

// Sampler asks stores for their Stats at intervals, each store on its own schedule. So a database
// is not asked for all of them at once, and a store that does not answer does not hide the
// others. Scrapes show the latest figures and do not ask the stores. Figures of a store that does
// not answer are shown until they are three intervals old; after that they are absent. Every
// process that samples a store shows the same figures, so use their maximum, never their sum.
//
// It is safe for concurrent use.
type Sampler struct {
	m      *Metrics
	cfg    SamplerConfig
	stores []*store

	mu      sync.Mutex
	running bool
}

// NewSampler returns a Sampler. It does not access any store before Run or Sample. Errors wrap
// outbox.ErrInvalidConfig.
func (m *Metrics) NewSampler(cfg SamplerConfig) (*Sampler, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	s := &Sampler{m: m, cfg: cfg}
	for _, name := range slices.Sorted(maps.Keys(cfg.Outboxes)) {
		s.stores = append(s.stores, &store{name: name, ask: askOutbox(name, cfg.Outboxes[name]), errors: m.counter(outboxStatsErrors, name)})
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Inboxes)) {
		s.stores = append(s.stores, &store{name: name, ask: askInbox(name, cfg.Inboxes[name]), errors: m.counter(inboxStatsErrors, name)})
	}
	m.show(s.show)
	return s, nil
}

func (c SamplerConfig) complete() (SamplerConfig, error) {
	c.Interval = cmp.Or(c.Interval, 15*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	c.Logger = logger.Or(c.Logger)
	switch {
	case len(c.Outboxes)+len(c.Inboxes) == 0:
		return c, outbox.ConfigError("Outboxes", "{}", "at least one outbox or inbox is required")
	case c.Interval < time.Second:
		return c, outbox.ConfigError("Interval", c.Interval, "must be at least 1s")
	case c.Timeout < 0:
		return c, outbox.ConfigError("Timeout", c.Timeout, "must not be negative")
	}
	for name, o := range c.Outboxes {
		if err := validName("Outboxes", name); err != nil {
			return c, err
		}
		if o == nil {
			return c, outbox.ConfigError("Outboxes["+name+"]", nil, "must not be nil")
		}
	}
	for name, in := range c.Inboxes {
		if err := validName("Inboxes", name); err != nil {
			return c, err
		}
		if in == nil {
			return c, outbox.ConfigError("Inboxes["+name+"]", nil, "must not be nil")
		}
	}
	return c, nil
}

// Run samples until ctx ends, and then returns nil; after that no figures are shown. It returns
// outbox.ErrAlreadyRunning if it is running already.
func (s *Sampler) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.running {
		s.mu.Unlock()
		return fmt.Errorf("%w: the sampler", outbox.ErrAlreadyRunning)
	}
	s.running = true
	s.mu.Unlock()
	defer s.end()
	var asking sync.WaitGroup
	for i, st := range s.stores {
		asking.Go(func() {
			_ = wait.For(ctx, time.Duration(i)*min(stagger, s.cfg.Interval/time.Duration(len(s.stores))))
			s.keepAsking(ctx, st)
		})
	}
	asking.Wait()
	return nil
}

// stagger is the most time between the first samples of two stores: stores that share a database
// do not all ask it at once.
const stagger = 100 * time.Millisecond

// keepAsking samples a store until ctx ends. It logs the first failure, and the first success
// after it.
func (s *Sampler) keepAsking(ctx context.Context, st *store) {
	failed := false
	for ctx.Err() == nil {
		err := st.sample(ctx, s.cfg.Timeout)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failed:
			s.cfg.Logger.WarnContext(ctx, "figures were not sampled", slog.Any("error", err))
		case err == nil && failed:
			s.cfg.Logger.WarnContext(ctx, "figures are sampled again", slog.String("store", st.name))
		}
		failed = err != nil
		_ = wait.For(ctx, jitter.Around(s.cfg.Interval, 0.1))
	}
}

func (s *Sampler) end() {
	for _, st := range s.stores {
		st.set(nil)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
}

// Sample asks each store once, for programs with their own schedule. It returns the errors of
// stores that did not answer; they are also counted.
func (s *Sampler) Sample(ctx context.Context) error {
	errs := make([]error, len(s.stores))
	var asking sync.WaitGroup
	for i, st := range s.stores {
		asking.Go(func() { errs[i] = st.sample(ctx, s.cfg.Timeout) })
	}
	asking.Wait()
	return errors.Join(errs...)
}

func (s *Sampler) show(show func(reading)) {
	for _, st := range s.stores {
		for _, r := range st.fresh(3 * s.cfg.Interval) {
			show(r)
		}
	}
}
