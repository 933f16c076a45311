package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// ErrDrainTimeout is returned by Run if its context has ended and the running calls did not end
// within Config.DrainTimeout. Nothing is lost: the lease runs out, and the next relay repeats the
// page.
var ErrDrainTimeout = errors.New("leat: drain timeout")

// Relay carries the records of one Source to one Sink. Run as many replicas of it as you like, in
// any processes: each slot of the source (one, unless it is Sharded) is led by one of them, and
// the others stand by and take over within the lease. It is safe for concurrent use.
type Relay struct {
	source   driver.Source
	sink     driver.Sink
	cfg      Config
	log      *slog.Logger
	newMode  newMode
	running  atomic.Bool
	hooking  sync.Mutex // hooks are called from several goroutines
	watch    watch
	pauses   pauses
	policies keptPolicies
	polled   sync.Once // late messages were logged
}

// New returns a Relay from source to sink. It returns an error that wraps
// outbox.ErrInvalidConfig if an argument is nil or cfg cannot work. It
// connects to nothing.
func New(source driver.Source, sink driver.Sink, cfg Config) (*Relay, error) {
	if source == nil {
		return nil, outbox.ConfigError("source", nil, "must not be nil")
	}
	if sink == nil {
		return nil, outbox.ConfigError("sink", nil, "must not be nil")
	}
	if v, ok := source.(slog.LogValuer); ok && cfg.Logger == nil {
		cfg.Logger = logger.Or(nil).With(slog.Attr{Value: v.LogValue()}) // without a key, slog inlines it
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := cfg.placed(source); err != nil {
		return nil, err
	}
	newMode, err := chooseMode(&cfg, sink)
	if err != nil {
		return nil, err
	}
	r := &Relay{source: source, sink: sink, cfg: cfg, log: cfg.Logger, newMode: newMode}
	return r, r.policies.of(source, &cfg)
}

// Run relays until ctx ends, then drains and returns nil: it waits for the page that was
// sent, stores the position and releases the lease, all within
// Config.DrainTimeout (else it returns ErrDrainTimeout). Every goroutine that it started
// has ended when it returns.
//
// Only errors that wrap driver.ErrSourceUnusable end Run before ctx does, after an
// AlarmSourceUnusable. A supervisor may start the relay again, with backoff: the source is
// refused again until an operator has fixed it, and trying loses and repeats nothing. But an
// operator must be alerted, since nothing is relayed until then: by the alarm, by the exit of the
// process, or, if the process has other work and stays, by Health, which reports that the relay
// does not run. Every other error of the source or the sink, such as a database that is
// unavailable or a broker that refuses, is logged, shown to the hooks and tried again with
// backoff for as long as it takes. Config.Policies decide about a record that cannot be
// delivered; if the Source's sessions are not Holders, it holds back the records behind it.
//
// If the Source is Sharded, Run leads as many slots at once as its fair share.
func (r *Relay) Run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return fmt.Errorf("%w: the relay", outbox.ErrAlreadyRunning)
	}
	defer r.running.Store(false)
	r.watch.run(true)
	defer r.watch.run(false)
	defer r.startLookout(ctx)()
	r.log.InfoContext(ctx, "relay starts",
		slog.Duration("lease", r.cfg.Lease), slog.Duration("publish_timeout", r.cfg.PublishTimeout),
		slog.Duration("lease_margin", r.cfg.LeaseMargin), slog.Int("page_size", r.cfg.PageSize))
	return newSlotLeader(r).run(ctx)
}

// check asks the source whether it may be read.
func (r *Relay) check(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, r.cfg.Lease)
	defer cancel()
	err := r.expected(bounded)
	if err == nil {
		err = r.source.Check(bounded)
	}
	if err != nil && ctx.Err() == nil {
		r.onFault(ctx, "check", err)
	}
	return err
}

// acquire claims the lease of a slot and returns a term under it.
func (r *Relay) acquire(ctx context.Context) (*term, error) {
	if err := r.notePolicies(ctx); err != nil {
		return nil, err
	}
	asked := time.Now()
	err := failpoint.Inject(ctx, failpoint.RelayClaimWaits)
	var s driver.Session
	if err == nil {
		s, err = r.claim(ctx)
	}
	if errors.Is(err, driver.ErrLeaseHeld) {
		r.onAnswer(ctx)
		if leader, changed := r.watch.standsBy(err); changed {
			logger.Tell(ctx, r.log, "relay stands by", slog.String("leader", leader))
		}
		return nil, err
	}
	if err != nil {
		r.onFault(ctx, "acquire", err)
		return nil, err
	}
	r.onAnswer(ctx)
	r.watch.leader.Store(nil)
	logger.Tell(ctx, r.log, "relay leads", slog.Int("slot", slotOf(s)), slog.Int64("epoch", s.Epoch()))
	r.onLease(ctx, s, true, nil)
	_ = r.notePolicies(ctx) // of a new group; otherwise the lookout tries again
	return newTerm(r, s, asked.Add(r.cfg.Lease)), nil
}

// claim asks for the lease. The end of ctx does not cut it off at once: if the lease was taken
// and the answer lost, other relays could not lead before the lease expires.
func (r *Relay) claim(ctx context.Context) (driver.Session, error) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.Lease) // a later lease would have expired
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(r.cfg.DrainTimeout/4, cancel) })()
	if err := r.expected(bounded); err != nil {
		return nil, err
	}
	return r.source.Acquire(bounded, r.cfg.Lease)
}

// firstRetry is how soon a relay asks again for a lease that is held, if the source notices dead
// holders. The wait doubles each time, up to what the source asks for.
const firstRetry = 50 * time.Millisecond

// standby returns how long a replica that could not get the lease waits. It waits until the lease may
// expire, but no longer than a fifth of the lease's duration, so that a released lease is soon taken. A
// source that may notice a dead holder can ask for a shorter wait. asked is how often the lease was held
// since the relay led or started: at first it asks soon, since it may be the holder's successor.
func (r *Relay) standby(err error, asked int) time.Duration {
	wait := r.cfg.Lease / 5
	if held, ok := errors.AsType[*driver.LeaseHeldError](err); ok {
		for _, d := range []time.Duration{held.Remaining, jitter.Doubled(firstRetry, held.Retry, asked)} {
			if d > 0 {
				wait = min(wait, d)
			}
		}
	}
	return jitter.Below(max(wait, r.cfg.PollMin), 0.25)
}
