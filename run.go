package leat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

var (
	errNotServing   = errors.New("leat: the service is not running")
	errRouterStarts = errors.New("leat: a router has not begun")
)

// The optional methods of a store.
type (
	migrator interface {
		Migrate(ctx context.Context) error
	}
	maintainer interface {
		RunMaintenance(ctx context.Context) error
	}
	notifier interface {
		RunNotifier(ctx context.Context) error
	}
)

// part is one of the things that Run runs.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// Run migrates, then runs everything until ctx ends: the routers, the redrive of parked messages,
// the relay, the maintenance of both stores, the notifier, and the parts given to it, such as
// relays of other groups. Then it stops them in this order: parts and routers, which finish the
// messages that they have; the redrive; and the rest, with the relay draining. It returns nil if
// all went well.
//
// A part that ends earlier ends all the others. The first error counts, and names its part. Run
// waits for each part to return, without a bound of its own; the relay and the routers have
// theirs in relay.Config.DrainTimeout and message.RouterConfig.CloseTimeout.
//
// Run it in as many processes as you like. Within one process, it returns
// outbox.ErrAlreadyRunning while it runs, and a router cannot run twice.
func (s *Service) Run(ctx context.Context, parts ...Runner) error {
	if !s.running.CompareAndSwap(false, true) {
		return outbox.ErrAlreadyRunning
	}
	defer s.running.Store(false)
	routers := s.list()
	if len(routers) > 0 && s.once == nil {
		return errNoInbox
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	redrive, err := s.redrive(routers)
	if err != nil {
		return err
	}
	front := make([]part, 0, len(parts)+len(routers))
	for _, p := range parts {
		front = append(front, part{fmt.Sprintf("%T", p), p.Run})
	}
	for _, r := range routers {
		front = append(front, part{"router", closing(r.Router)})
	}
	return s.serve(ctx, s.upkeep(), redrive, front)
}

// serve starts the stages in order, and stops them in reverse order when ctx or a part has ended.
func (s *Service) serve(ctx context.Context, stages ...[]part) error {
	var first failure
	ended, end := context.WithCancel(ctx)
	defer end()
	stops := make([]func(), 0, len(stages))
	for _, parts := range stages {
		stops = append(stops, start(ctx, parts, func(name string, err error) {
			first.note(name, err)
			end()
		}))
	}
	s.serving.Store(true)
	<-ended.Done()
	s.serving.Store(false)
	for _, stop := range slices.Backward(stops) {
		stop()
	}
	return first.err
}

// start runs parts until stop is called, which waits for them. The end of ctx does not reach
// them: stop decides the order in which they end.
func start(ctx context.Context, parts []part, ended func(name string, err error)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	for _, p := range parts {
		running.Go(func() {
			err := p.run(ctx)
			if ctx.Err() != nil && errors.Is(err, context.Canceled) {
				err = nil // it was stopped on purpose
			}
			ended(p.name, err)
		})
	}
	return func() { cancel(); running.Wait() }
}

// failure is the first error of the parts.
type failure struct {
	mu  sync.Mutex
	err error
}

func (f *failure) note(name string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil && err != nil {
		f.err = fmt.Errorf("leat: %s: %w", name, err)
	}
}

func (s *Service) list() []*Router {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.routers)
}

func (s *Service) migrate(ctx context.Context) error {
	if s.cfg.NoMigrate {
		return nil
	}
	for _, store := range []struct {
		name string
		any
	}{{"outbox", s.cfg.Outbox}, {"inbox", s.cfg.Inbox}} {
		if m, ok := store.any.(migrator); ok {
			if err := m.Migrate(ctx); err != nil {
				return fmt.Errorf("leat: migrate the %s: %w", store.name, err)
			}
		}
	}
	return nil
}

// upkeep returns the maintenance and the notifier of the stores.
func (s *Service) upkeep() []part {
	var all []part
	if s.relay != nil {
		all = append(all, part{"relay", s.relay.Run})
	}
	if n, ok := s.cfg.Outbox.(notifier); ok {
		all = append(all, part{"notifier", n.RunNotifier})
	}
	if s.cfg.NoMaintenance {
		return all
	}
	if m, ok := s.cfg.Outbox.(maintainer); ok {
		all = append(all, part{"outbox maintenance", m.RunMaintenance})
	}
	if m, ok := s.cfg.Inbox.(maintainer); ok {
		all = append(all, part{"inbox maintenance", m.RunMaintenance})
	}
	return all
}

// redrive returns the part that runs redriven messages through the handlers of routers.
func (s *Service) redrive(routers []*Router) ([]part, error) {
	var all []part
	for _, r := range routers {
		for name, handle := range r.handlers() {
			processor, err := s.cfg.Inbox.For(name)
			if err != nil {
				return nil, fmt.Errorf("leat: handler %q: %w", name, err)
			}
			cfg := middleware.RedriveConfig{Processor: processor, Handler: handle, Outbox: s.enqueuer(), KeyFunc: s.cfg.KeyFunc}
			if s.cfg.Outbox != nil {
				cfg.Topic = r.topic(name)
			}
			all = append(all, part{fmt.Sprintf("redrive of handler %q", name), func(ctx context.Context) error {
				err := middleware.RunRedrive(ctx, cfg)
				if errors.Is(err, outbox.ErrInvalidConfig) { // the store parks nothing
					<-ctx.Done()
					return nil
				}
				return err
			}})
		}
	}
	return all, nil
}

// closing runs r, and closes it when ctx ends: only Close bounds the wait for its handlers.
func closing(r *message.Router) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		running, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- r.Run(running) }()
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
		}
		select {
		case <-r.Running():
		default:
			cancel() // Close would wait for handlers that have not begun
		}
		select {
		case err := <-ended:
			return err
		case <-r.Running():
		}
		closed := r.Close()
		return errors.Join(<-ended, closed)
	}
}

// live returns an error if a new process may help.
func (s *Service) live(ctx context.Context) error {
	if s.relay == nil || !s.running.Load() {
		return nil
	}
	if err := s.relay.Health(ctx); errors.Is(err, relay.ErrStuck) {
		return err
	}
	return nil
}
