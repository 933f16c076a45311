package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// part is a relay or a maintenance. It is started again when it ends.
type part struct {
	kind, store, group string

	// check runs before the first run; nil: there is nothing to check.
	check func(ctx context.Context) error
	run   func(ctx context.Context) error
	// look returns the status of the running part.
	look func(now time.Time) PartStatus
	// dead returns an error if only a new process helps. It is called while the part runs.
	dead func(now, since time.Time) error

	mu      sync.Mutex
	running bool
	checked bool
	since   time.Time // of running
	err     error     // why it does not run
}

// errEnded is the error of a part that ended without one.
var errEnded = errors.New("leat: it has ended")

// checkTimeout bounds a check.
const checkTimeout = 15 * time.Second

// supervise runs p until ctx ends, and starts it again whenever it ends before.
func (p *part) supervise(ctx context.Context, log *slog.Logger, retryUnusable time.Duration) error {
	log = log.With(slog.String("part", p.name()))
	pause := time.Second
	for ctx.Err() == nil {
		err := p.start(ctx)
		if err == nil {
			pause = time.Second
			err = p.run(ctx)
			if ctx.Err() != nil {
				p.ends(nil)
				return err
			}
		}
		if err == nil {
			err = errEnded
		}
		p.ends(err)
		again := min(pause, retryUnusable)
		if unusable(err) {
			again = retryUnusable
		}
		log.ErrorContext(ctx, "it does not run, and is tried again", slog.Any("error", err), slog.Duration("in", again))
		p.rest(ctx, again, err)
		pause = min(2*pause, retryUnusable)
	}
	return nil
}

// lookAgain is how often a part that waits for an operator checks whether it is repaired.
const lookAgain = time.Second

// rest waits for left after err. If an operator must fix err, and the check fails with such an error as
// well, rest ends as soon as the check passes.
func (p *part) rest(ctx context.Context, left time.Duration, err error) {
	if p.check == nil || !unusable(err) || !unusable(p.passes(ctx)) {
		_ = wait.For(ctx, left)
		return
	}
	for ; left > 0; left -= lookAgain {
		if wait.For(ctx, min(left, lookAgain)) != nil || p.passes(ctx) == nil {
			return
		}
	}
}

// passes runs the check.
func (p *part) passes(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return p.check(bounded)
}

// start checks whether p can run.
func (p *part) start(ctx context.Context) error {
	if p.check != nil {
		if err := p.passes(ctx); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running, p.checked, p.err, p.since = true, true, nil, time.Now()
	return nil
}

func (p *part) ends(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running, p.err = false, err
}

// unusable reports whether err stays until an operator fixes it.
func unusable(err error) bool {
	return errors.Is(err, driver.ErrSourceUnusable) || errors.Is(err, outbox.ErrNotMigrated) || errors.Is(err, pginbox.ErrNotEnabled)
}

func (p *part) name() string {
	if p.group == "" {
		return p.kind + " " + p.store
	}
	return p.kind + " " + p.store + "/" + p.group
}

// status returns the status of p.
func (p *part) status(now time.Time) PartStatus {
	p.mu.Lock()
	running, checked, err := p.running, p.checked, p.err
	p.mu.Unlock()
	s := PartStatus{State: StateStarting}
	switch {
	case running:
		s = p.look(now)
	case errors.Is(err, pginbox.ErrNotEnabled):
		s.State, s.Reason = StateDegraded, brief(fmt.Errorf("ids are kept for ever until leat inbox retention enable: %w", err))
	case err != nil:
		s.State, s.Reason = StateDown, brief(err)
	case checked:
		s.State, s.Reason = StateDown, "it has ended"
	}
	s.Kind, s.Store, s.Group = p.kind, p.store, p.group
	return s
}

// ready returns the reason why p is not ready, or nil: its first check has not passed, or it waits for an
// operator. An inbox whose retention is not enabled is ready: it works without it.
func (p *part) ready() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case errors.Is(p.err, pginbox.ErrNotEnabled):
		return nil
	case p.err != nil && (!p.checked || unusable(p.err)):
		return p.err
	case !p.checked:
		return errStarting
	default:
		return nil
	}
}

// alive returns an error if only a new process helps.
func (p *part) alive(now time.Time) error {
	p.mu.Lock()
	running, since := p.running, p.since
	p.mu.Unlock()
	if !running {
		return nil
	}
	return p.dead(now, since)
}
