package chaos

import (
	"context"
	"syscall"
	"time"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

// Signals to processes.
const (
	contSignal = syscall.SIGCONT
	stopSignal = syscall.SIGSTOP
	killSignal = syscall.SIGKILL
)

// overProcess kills the process, or stops it for longer than its lease.
func (l *lane) overProcess(ctx context.Context, f *fault, box <-chan roles.Report) bool {
	p := l.process
	life := p.current()
	if !l.look(ctx, f, box, life) {
		return false
	}
	f.at = time.Now()
	if f.kind == kindKill {
		p.drainExits()
		p.kill()
		f.consequence = l.buried(life)
		return true
	}
	p.signal(stopSignal)
	l.thaw(f)
	l.see(ctx, f, box, life.gone)
	return true
}

// look asks the process how much is in flight, and makes it watch for consequences of f.
func (l *lane) look(ctx context.Context, f *fault, box <-chan roles.Report, life *life) bool {
	l.process.tell(roles.Command{Do: roles.DoWatch, Fault: f.id})
	r, ok := await(ctx, box, roles.SaidWatching, firedWithin, life.gone)
	if !ok {
		return false
	}
	if f.inflight = r.Inflight; f.inflight == 0 {
		f.inflight = l.stage.store.pending(ctx, l.process.role)
	}
	if f.inflight == 0 { // such a fault would not count
		l.process.tell(roles.Command{Do: roles.DoForget, Fault: f.id})
	}
	return f.inflight > 0
}

// overConnection disturbs the connections between the process and its database.
func (l *lane) overConnection(ctx context.Context, f *fault, box <-chan roles.Report) bool {
	p := l.process
	switch f.kind {
	case kindBeforeCommit:
		return l.atCommit(ctx, f, box, faultnet.CutBefore)
	case kindAfterCommit:
		return l.atCommit(ctx, f, box, faultnet.CutAfter)
	}
	life := p.current()
	if !l.look(ctx, f, box, life) {
		return false
	}
	f.at = time.Now()
	switch f.kind {
	case kindTerminate:
		if !l.stage.store.terminate(ctx, p.name, p.role == roles.Bank || p.role == roles.Ledger) {
			p.tell(roles.Command{Do: roles.DoForget, Fault: f.id})
			return false
		}
	case kindHold:
		p.wire.hold(holdFor)
	default:
		p.wire.cut()
	}
	l.see(ctx, f, box, life.gone)
	return true
}

// atCommit cuts the connection at the next COMMIT of the process.
func (l *lane) atCommit(ctx context.Context, f *fault, box <-chan roles.Report, mode faultnet.Cut) bool {
	p := l.process
	life := p.current()
	fired := p.wire.cutAtCommit(mode)
	defer p.wire.relent()
	p.tell(roles.Command{Do: roles.DoWatch, Fault: f.id})
	defer p.tell(roles.Command{Do: roles.DoForget, Fault: f.id})
	timer := time.NewTimer(firedWithin)
	defer timer.Stop()
	select {
	case <-fired:
	case <-timer.C:
		return false
	case <-life.gone:
		return false
	case <-ctx.Done():
		return false
	}
	f.at, f.inflight = time.Now(), 1 // the transaction itself is in flight
	l.see(ctx, f, box, life.gone)
	return true
}

// await waits for a report of a kind.
func await(ctx context.Context, box <-chan roles.Report, said string, d time.Duration, gone <-chan struct{}) (roles.Report, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case r := <-box:
			if r.Said == said {
				return r, true
			}
		case <-timer.C:
			return roles.Report{}, false
		case <-ctx.Done():
			return roles.Report{}, false
		case <-gone: // reports from before the end are already in the box
			for {
				select {
				case r := <-box:
					if r.Said == said {
						return r, true
					}
					continue
				default:
				}
				return roles.Report{}, false
			}
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
