package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// Daemon runs the parts that its Config lists. It is safe for concurrent use.
type Daemon struct {
	cfg       Config
	log       *slog.Logger
	parts     []*part
	relays    []named // of parts
	databases []*database
	notifier  notifier
	started   time.Time
	ran       atomic.Bool
	stopping  atomic.Bool

	bound   sync.Mutex
	servers []*server
}

// Run calls New and then Daemon.Run.
func Run(ctx context.Context, cfg Config) error {
	d, err := New(cfg)
	if err != nil {
		return err
	}
	return d.Run(ctx)
}

// New returns a Daemon. Errors wrap outbox.ErrInvalidConfig. It connects to nothing.
func New(cfg Config) (*Daemon, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	d := &Daemon{cfg: cfg, log: cfg.Logger, notifier: notifier{cfg.NotifySocket}}
	for i, r := range cfg.Relays {
		made, err := relay.New(r.Source, r.Sink, r.Config)
		if err != nil {
			return nil, fmt.Errorf("relays[%d], %s/%s: %w", i, r.Outbox, r.Group, err)
		}
		d.parts = append(d.parts, relayPart(r, made))
		d.relays = append(d.relays, named{r.Outbox, r.Group, made})
	}
	for _, m := range cfg.Maintenance {
		d.parts = append(d.parts, maintenancePart(m))
	}
	for _, db := range cfg.Databases {
		d.databases = append(d.databases, &database{Database: db})
	}
	return d, nil
}

// Run runs all parts until ctx ends. The daemon is then not ready, and drains each relay within its
// Config.DrainTimeout. Run returns nil, or relay.ErrDrainTimeout if a relay did not end in time. It returns
// before ctx ends only if a listener fails. A part that ends is started again. Run can be called once.
func (d *Daemon) Run(ctx context.Context) error {
	if !d.ran.CompareAndSwap(false, true) {
		return fmt.Errorf("%w: the daemon", outbox.ErrAlreadyRunning)
	}
	if err := d.listen(ctx); err != nil {
		return err
	}
	d.started = time.Now()
	// The parts run until the probes report that the daemon is not ready.
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		d.stop(ctx)
		cancel(context.Cause(ctx))
	})()
	var serving sync.WaitGroup
	var failed error
	var once sync.Once
	for _, s := range d.servers {
		serving.Go(func() {
			if err := s.serve(); err != nil {
				once.Do(func() { failed = err })
				d.stop(ctx)
				cancel(err)
			}
		})
	}
	d.notifier.send("READY=1\nSTATUS=running " + strconv.Itoa(len(d.parts)) + " parts")
	err := d.work(work)
	for _, s := range d.servers {
		s.close()
	}
	serving.Wait()
	return errors.Join(failed, err)
}

// work runs all parts until ctx ends.
func (d *Daemon) work(ctx context.Context) error {
	// A part that fails to drain must not keep the others from draining: its error does not cancel the
	// group.
	var group errgroup.Group
	for _, p := range d.parts {
		group.Go(func() error { return p.supervise(ctx, d.log, d.cfg.RetryUnusable) })
	}
	for _, db := range d.databases {
		group.Go(func() error { return db.watch(ctx) })
	}
	if d.cfg.Sampler != nil {
		group.Go(func() error { return d.cfg.Sampler.Run(ctx) })
	}
	if runner, ok := d.cfg.Handler.(Runner); ok {
		group.Go(func() error { return runner.Run(ctx) })
	}
	if d.cfg.Watchdog > 0 {
		group.Go(func() error { return d.watchdog(ctx) })
	}
	return group.Wait()
}

// stop makes the daemon unready.
func (d *Daemon) stop(ctx context.Context) {
	if d.stopping.CompareAndSwap(false, true) {
		d.log.InfoContext(ctx, "stopping: not ready from now on, drains")
		d.notifier.send("STOPPING=1")
	}
}

// Reload calls load, and notifies the service manager before and after.
func (d *Daemon) Reload(load func() error) error {
	d.notifier.send("RELOADING=1")
	err := load()
	d.notifier.send("READY=1")
	return err
}
