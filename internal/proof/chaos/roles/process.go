package roles

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/wait"
)

// totalsEvery is the time between two reports of a process's totals.
const totalsEvery = 200 * time.Millisecond

// process plays its role in the run.
type process struct {
	Settings

	reports     *reporter
	history     *history.Writer
	log         *slog.Logger
	points      *failpointtest.Registry
	watch       *watch
	connections *connections
	extras      Extras
	contents    *contents          // nil if events are in JSON
	stop        context.CancelFunc // has the effect of SIGTERM
	quiet       chan struct{}
	hush        sync.Once
	asked       chan Command // requests to enqueue events
	resting     atomic.Bool  // the bank's tellers rest

	enqueued, settled, effects, repeats atomic.Int64
	age                                 atomic.Int64
	outageAt                            atomic.Int64 // microseconds since 1970
	inflight                            atomic.Int64
	dawdle                              atomic.Int64 // nanoseconds that the next handler must take
	loses                               losing       // set for the notifier
}

// Extras are additions that only some programs link, since they would add too many dependencies here.
type Extras struct {
	// Open opens databases other than PostgreSQL. Defaults to none.
	Open Opener
	// Daemon relays instead of the relays of this package. Defaults to none.
	Daemon Daemon
}

// Run plays the role until ctx ends or the driver ends. A process notices the latter because the driver
// holds the other end of its standard input.
func Run(ctx context.Context, s Settings, extras Extras) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	points, err := failpointtest.Parse(os.Getenv(failpointtest.EnvPoints))
	if err != nil {
		return err
	}
	log, err := history.Append(s.historyPath(), s.Role)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	reports := newReporter()
	p := &process{
		Settings: s, reports: reports, history: log, points: points, stop: cancel,
		log:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		watch: newWatch(reports), connections: newConnections(), quiet: make(chan struct{}), asked: make(chan Command, 8), extras: extras,
	}
	if s.Registry != "" {
		if p.contents, err = newContents(s.Registry); err != nil {
			return err
		}
	}
	go p.obey(ctx, cancel) // ends with the process
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() { p.tellTotals(ctx) })
	return p.play(failpointtest.With(ctx, points))
}

// play runs the role.
func (p *process) play(ctx context.Context) error {
	if p.extras.Daemon != nil && IsRelay(p.Role) && p.Sabotage != IDCursor {
		d, err := p.daemonRun()
		if err != nil {
			return err
		}
		return p.extras.Daemon(ctx, d)
	}
	switch p.Role {
	case Bank:
		return p.bank(ctx)
	case Relay, Receipts:
		return p.relay(ctx)
	case Ledger:
		return p.ledger(ctx)
	case Exact:
		return p.exact(ctx)
	case Notifier:
		return p.notifier(ctx)
	default:
		return fmt.Errorf("role %q is not known", p.Role)
	}
}

// obey carries out the driver's commands until the driver has ended.
func (p *process) obey(ctx context.Context, gone func()) {
	defer gone()
	commands := json.NewDecoder(os.Stdin)
	for {
		var c Command
		err := commands.Decode(&c)
		switch {
		case err != nil:
			return
		case c.Do == DoArm:
			p.arm(c)
		case c.Do == DoDisarm:
			p.disarm()
			p.watch.forget(c.Fault)
		case c.Do == DoForget:
			p.watch.forget(c.Fault)
		case c.Do == DoWatch:
			go p.look(ctx, c.Fault) // does not take long
		case c.Do == DoQuiet:
			p.hush.Do(func() { close(p.quiet) })
		case c.Do == DoRest, c.Do == DoWork:
			p.resting.Store(c.Do == DoRest)
		case c.Do == DoEnqueue:
			select {
			case p.asked <- c:
			default: // this role does not enqueue events
			}
		}
	}
}

// busyFor is how long a handler must take if the driver wants to strike it at work. busyWithin bounds the
// wait for a handler that is at work.
const (
	busyFor    = 400 * time.Millisecond
	busyWithin = time.Second
)

// look reports how much is in flight, and watches for consequences of a fault that strikes now. A consumer
// is made busy first.
func (p *process) look(ctx context.Context, fault int) {
	if p.Role == Ledger || p.Role == Notifier {
		p.dawdle.Store(int64(busyFor))
		for end := time.Now().Add(busyWithin); p.inflight.Load() == 0 && time.Now().Before(end); {
			wait.Full(ctx, time.Millisecond)
		}
	}
	p.watch.begin(fault)
	p.reports.say(Report{Said: SaidWatching, Fault: fault, Inflight: p.inflight.Load()})
}

// tellTotals reports the totals at intervals until ctx ends, and then once more.
func (p *process) tellTotals(ctx context.Context) {
	p.reports.say(Report{Said: SaidReady})
	ticker := time.NewTicker(totalsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.reports.say(Report{Said: SaidTotals, Inflight: p.inflight.Load(), Totals: p.totals()})
		case <-ctx.Done():
			p.reports.say(Report{Said: SaidTotals, Totals: p.totals()})
			return
		}
	}
}

func (p *process) totals() Totals {
	return Totals{
		Enqueued: p.enqueued.Load(), Settled: p.settled.Load(), Effects: p.effects.Load(), Repeats: p.repeats.Load(),
		Age: p.age.Swap(0),
	}
}

// aged records the age of an event that has just had its effect. micros is the event's time.
func (p *process) aged(micros int64) {
	age := max(0, right().UnixMicro()-micros) / 1000
	for {
		old := p.age.Load()
		if age <= old || p.age.CompareAndSwap(old, age) {
			return
		}
	}
}

// note writes a line of the history. If it cannot be written the process stops, since its actions would
// not be recorded.
func (p *process) note(line history.Line) {
	line.At = right().UnixMicro()
	if err := p.history.Write(line); err != nil {
		p.log.Error("history not written", slog.Any("error", err))
		p.stop()
	}
}

// right returns the right time, even if an act has moved the clock of this process.
func right() time.Time {
	var now syscall.Timeval
	_ = syscall.Gettimeofday(&now) // it cannot fail
	return time.Unix(now.Unix())
}
