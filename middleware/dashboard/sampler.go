package dashboard

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/admin"
)

const (
	// watchedAge is how old figures are at most while somebody looks, idleAge while nobody does.
	watchedAge = 2 * time.Second
	idleAge    = 10 * time.Second
	// sampleTimeout bounds the calls of one store in one sample.
	sampleTimeout = 5 * time.Second
	// keptFor is how far back the charts reach.
	keptFor = 30 * time.Minute
)

// errRunning is returned by Run if it runs already.
var errRunning = errors.New("leat: the dashboard is running already")

// outboxSample is what an outbox has answered last.
type outboxSample struct {
	at     time.Time
	stats  admin.Stats
	groups []admin.Group
	// failed is why it did not answer since; what it has answered before stays.
	failed error
}

type inboxSample struct {
	at     time.Time
	stats  inboxadmin.Stats
	failed error
}

// sample is the figures of all stores.
type sample struct {
	at       time.Time
	outboxes map[string]outboxSample
	inboxes  map[string]inboxSample
}

// sampler asks all stores at once, side by side, for whoever wants to know: many tabs cost
// what one does.
type sampler struct {
	cfg    Config
	asking chan struct{} // holds a token while nobody asks

	mu      sync.Mutex
	running bool
	last    sample
	history []sample
}

func newSampler(cfg Config) *sampler {
	s := &sampler{cfg: cfg, asking: make(chan struct{}, 1)}
	s.asking <- struct{}{}
	return s
}

// run keeps figures fresh.
func (s *sampler) run(ctx context.Context) error {
	s.mu.Lock()
	if s.running {
		s.mu.Unlock()
		return errRunning
	}
	s.running = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running = false
	}()
	for ctx.Err() == nil {
		_, _ = s.get(ctx, idleAge)
		_ = wait.For(ctx, idleAge)
	}
	return nil
}

// get returns figures that are at most as old as said. One caller asks, others wait for it.
func (s *sampler) get(ctx context.Context, most time.Duration) (sample, error) {
	if last, ok := s.fresh(most); ok {
		return last, nil
	}
	select {
	case <-s.asking:
		defer func() { s.asking <- struct{}{} }()
	case <-ctx.Done():
		return sample{}, ctx.Err()
	}
	if last, ok := s.fresh(most); ok {
		return last, nil
	}
	// For all who wait, not only for who asks: a tab that is closed must not fail the others.
	next := s.ask(context.WithoutCancel(ctx))
	s.keep(next)
	return next, nil
}

func (s *sampler) fresh(most time.Duration) (sample, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, !s.last.at.IsZero() && time.Since(s.last.at) < most
}

// keep keeps a sample, and one of ten seconds for the charts.
func (s *sampler) keep(next sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = next
	if n := len(s.history); n == 0 || next.at.Sub(s.history[n-1].at) >= idleAge-idleAge/10 {
		s.history = append(s.history, next)
	}
	for len(s.history) > 0 && next.at.Sub(s.history[0].at) > keptFor {
		s.history = slices.Delete(s.history, 0, 1)
	}
}

// past returns the samples of the last half hour, the oldest first.
func (s *sampler) past() []sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.history)
}

func (s *sampler) ask(ctx context.Context) sample {
	s.mu.Lock()
	before := s.last
	s.mu.Unlock()
	next := sample{outboxes: maps.Clone(before.outboxes), inboxes: maps.Clone(before.inboxes)}
	if next.outboxes == nil {
		next.outboxes, next.inboxes = map[string]outboxSample{}, map[string]inboxSample{}
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for name, ob := range s.cfg.Outboxes {
		all.Go(func() {
			answer, err := s.askOutbox(ctx, ob)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				answer = next.outboxes[name]
				answer.failed = err
				s.complain(ctx, name, err)
			}
			next.outboxes[name] = answer
		})
	}
	for name, in := range s.cfg.Inboxes {
		all.Go(func() {
			answer, err := s.askInbox(ctx, in)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				answer = next.inboxes[name]
				answer.failed = err
				s.complain(ctx, name, err)
			}
			next.inboxes[name] = answer
		})
	}
	all.Wait()
	next.at = time.Now()
	return next
}

func (s *sampler) complain(ctx context.Context, name string, err error) {
	s.cfg.Logger.WarnContext(ctx, "figures were not sampled", slog.String("store", name), slog.Any("error", err))
}

// askOutbox asks with two statements.
func (s *sampler) askOutbox(ctx context.Context, ob admin.Outbox) (o outboxSample, err error) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	if o.stats, err = ob.Stats(ctx); err != nil {
		return o, err
	}
	if o.groups, err = ob.Groups(ctx); err != nil {
		return o, err
	}
	o.at = time.Now()
	return o, nil
}

func (s *sampler) askInbox(ctx context.Context, in inboxadmin.Inbox) (i inboxSample, err error) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	i.stats, err = in.Stats(ctx)
	i.at = time.Now()
	return i, err
}
