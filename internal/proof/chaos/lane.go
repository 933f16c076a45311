package chaos

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
)

const (
	// firedWithin is how long to wait for an armed point, and seenWithin for the consequence of a
	// fault.
	firedWithin = 2 * time.Second
	seenWithin  = 5 * time.Second
	// rarelyWithin is how long to wait for points that are passed only now and then.
	rarelyWithin = 6 * time.Second
	// holdFor is how long a half-open connection gets no answer.
	holdFor = roles.RelayLease + time.Second
)

// lane injects faults into one process, one after the other.
type lane struct {
	*injection

	process *process
	random  *rand.Rand
	deeds   map[string][]deed // by point
	points  []string
	score   map[string]float64 // the score of each point in this lane
	rested  time.Time          // time from which dear faults may strike again
}

func newLane(in *injection, p *process, number uint64) *lane {
	l := &lane{
		injection: in, process: p, deeds: map[string][]deed{}, score: map[string]float64{},
		random: rand.New(rand.NewPCG(in.stage.options.Seed, number)), //nolint:gosec // a seed is not secret
	}
	for _, d := range deedsOf(p.role, in.stage.options.Store) {
		if !in.stage.store.strikes(d) {
			continue
		}
		if len(l.deeds[d.point]) == 0 {
			l.points = append(l.points, d.point)
		}
		l.deeds[d.point] = append(l.deeds[d.point], d)
	}
	return l
}

// run injects until ctx ends.
func (l *lane) run(ctx context.Context) {
	for l.ready(ctx) && wait.Full(ctx, l.gap()) {
		l.calm.RLock()
		l.stroke(ctx)
		l.calm.RUnlock()
	}
}

// stroke injects one fault.
func (l *lane) stroke(ctx context.Context) {
	l.process.signal(contSignal) // in case the process was stopped without a report
	d := l.choose()
	l.score[d.point] += triedScore
	f := l.tally.begin(d.point, d.kind, l.process.name)
	box := l.mail.open(f.id)
	defer l.mail.close(f.id)
	if l.strike(ctx, f, box) {
		l.tally.end(f)
		l.struck(d, f)
	}
}

// triedScore is what an attempted fault adds to the score. One that counts adds 1 more.
const triedScore = 0.25

// struck updates the score of the point, and the time until the next dear fault.
func (l *lane) struck(d deed, f *fault) {
	if f.counts() {
		l.score[d.point]++
	}
	if l.isDear(d) {
		l.rested = time.Now().Add(l.rest())
	}
}

// manyPoints is the number of points at which the gap is the mean of the options. A process with fewer
// points has longer gaps.
const manyPoints = 20

// gap returns the wait before the next fault. It is exponentially distributed, and longer if the process
// has fewer points to strike.
func (l *lane) gap() time.Duration {
	return time.Duration(l.random.ExpFloat64() * float64(l.stage.options.Gap) * manyPoints / float64(len(l.points)))
}

// worksWithin is how long a consumer may take until its first message.
const worksWithin = 15 * time.Second

// ready waits until the process has started and, if it is a consumer, has received a message.
func (l *lane) ready(ctx context.Context) bool {
	for {
		life := l.process.current()
		begun := life.ready
		if l.process.role == roles.Ledger || l.process.role == roles.Notifier {
			begun = life.works
		}
		select {
		case <-begun:
			return ctx.Err() == nil
		case <-time.After(worksWithin):
			return ctx.Err() == nil
		case <-life.gone:
			if !wait.Full(ctx, 2*restartAfter) {
				return false
			}
		case <-ctx.Done():
			return false
		}
	}
}

// choose draws three points, takes the one with the lowest score, and then one of its deeds. A
// fault that takes long to recover from must wait until the process has worked for a while.
func (l *lane) choose() deed {
	cheap := time.Now().Before(l.rested)
	best, deeds := "", []deed(nil)
	for tries := 0; tries < 3 || best == ""; tries++ {
		point := l.points[l.random.IntN(len(l.points))]
		some := l.deeds[point]
		if cheap {
			some = slices.DeleteFunc(slices.Clone(some), l.isDear)
		}
		if len(some) > 0 && (best == "" || l.score[point] < l.score[best]) {
			best, deeds = point, some
		}
	}
	sum := 0
	for _, d := range deeds {
		sum += d.weight
	}
	n := l.random.IntN(sum)
	at := slices.IndexFunc(deeds, func(d deed) bool { n -= d.weight; return n < 0 })
	return deeds[at]
}

// isDear reports whether the process takes seconds to recover from d.
func (l *lane) isDear(d deed) bool {
	switch d.kind {
	case roles.KindExit, roles.KindStop, roles.KindPause, roles.KindRebalance, kindKill, kindHold:
		return true
	default:
		return l.fatal(d.point, d.kind)
	}
}

// rest returns how long a process must work between two dear faults. A group waits for a missing member as
// long as its session lasts.
func (l *lane) rest() time.Duration {
	switch l.process.role {
	case roles.Bank:
		return time.Second
	case roles.Ledger, roles.Notifier:
		return 3 * roles.SessionTimeout
	default:
		return 2 * roles.RelayLease
	}
}

// strike injects f and returns whether it has struck.
func (l *lane) strike(ctx context.Context, f *fault, box <-chan roles.Report) bool {
	switch {
	case strings.HasPrefix(f.point, "process/"):
		return l.overProcess(ctx, f, box)
	case strings.HasPrefix(f.point, "connection/"):
		return l.overConnection(ctx, f, box)
	case f.kind == roles.KindCut && (f.point == string(failpoint.ProducerCommitAmbiguous) ||
		f.point == string(failpoint.ConsumerCommitAmbiguous)):
		return l.atCommit(ctx, f, box, faultnet.CutAfter)
	default:
		return l.atPoint(ctx, f, box)
	}
}

// atPoint arms a failure point of the process and waits for the consequence.
func (l *lane) atPoint(ctx context.Context, f *fault, box <-chan roles.Report) bool {
	p := l.process
	life := p.current()
	fatal := l.fatal(f.point, f.kind)
	if fatal {
		p.expect()
	}
	p.drainExits()
	p.tell(roles.Command{Do: roles.DoArm, Fault: f.id, Point: f.point, Kind: f.kind, For: roles.RelayLease + time.Second})
	defer p.tell(roles.Command{Do: roles.DoDisarm, Fault: f.id})
	r, ok := await(ctx, box, roles.SaidFired, l.patience(f), life.gone)
	if !ok {
		if fatal && ctx.Err() == nil && !isClosed(life.gone) {
			p.unexpect(life)
		}
		return false
	}
	f.at, f.inflight = time.Now(), r.Inflight
	if f.inflight == 0 {
		f.inflight = l.stage.store.pending(ctx, p.role)
	}
	if fatal {
		f.consequence = l.buried(life)
		if f.kind == roles.KindCancel && f.consequence != stoppedInOrder {
			p.surprised(f.consequence + ", though only its context was cancelled")
		}
		return true
	}
	switch f.kind {
	case roles.KindStop:
		l.thaw(f)
	case roles.KindRebalance:
		l.leave(l.colleague())
	}
	l.see(ctx, f, box, life.gone)
	return true
}

// patience returns how long to wait until the point of f is reached.
func (l *lane) patience(f *fault) time.Duration {
	switch failpoint.Name(f.point) {
	case failpoint.RelayDropWaits, failpoint.RelayBeforePark, failpoint.RelayAfterPark, failpoint.RelayCloseMidBatch:
		return rarelyWithin
	default:
		return firedWithin
	}
}

// fatal reports whether a fault of this kind at this point ends the process.
func (l *lane) fatal(point, kind string) bool {
	return kind == roles.KindExit || kind == roles.KindCancel || kind == roles.KindPanic && roles.IsRelay(l.process.role) ||
		point == string(failpoint.RelayCloseMidBatch)
}

// stoppedInOrder is the consequence if a process stops because its context was cancelled.
const stoppedInOrder = exitedWell + ", restart"

// buried waits for the end of a life and returns how it ended.
func (l *lane) buried(life *life) string {
	select {
	case <-life.gone:
	case <-time.After(stopTimeout):
		_ = life.cmd.Process.Kill()
		<-life.gone
	}
	select {
	case how := <-l.process.exits:
		return how + ", restart"
	case <-time.After(time.Second):
		return "process ended, restart"
	}
}

// thaw waits until others have taken over the work of a stopped process, and continues it.
func (l *lane) thaw(f *fault) {
	<-time.After(l.longer())
	l.process.signal(contSignal)
	f.until = time.Now()
}

// colleague returns another process of the role.
func (l *lane) colleague() *process {
	for _, p := range l.processes.of(l.process.role) {
		if p != l.process {
			return p
		}
	}
	return l.process
}

// longer returns a time that outlasts the lease or session of the process.
func (l *lane) longer() time.Duration {
	const more = 500 * time.Millisecond
	switch l.process.role {
	case roles.Ledger, roles.Notifier:
		return roles.SessionTimeout + more
	default:
		return roles.RelayLease + more
	}
}

// see waits for the consequence of f, and stores it.
func (l *lane) see(ctx context.Context, f *fault, box <-chan roles.Report, gone <-chan struct{}) {
	if r, ok := await(ctx, box, roles.SaidSeen, seenWithin, gone); ok {
		f.consequence = r.Consequence
	}
}
