package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/wait"
)

// Kinds of faults at a failure point.
const (
	// KindError makes the point return an error.
	KindError = "error"
	// KindPanic makes the point panic.
	KindPanic = "panic"
	// KindExit ends the process at the point.
	KindExit = "exit"
	// KindStop stops the process at the point, as SIGSTOP does, until the driver continues it.
	KindStop = "stop"
	// KindPause makes the point wait.
	KindPause = "pause"
	// KindCancel cancels the context of the role at the point, so that it stops cleanly.
	KindCancel = "cancel"
	// KindRebalance makes another member leave the group while this one is at the point.
	KindRebalance = "rebalance"
	// KindObserved is the kind of a fault that was observed, but not injected.
	KindObserved = "observed"
	// KindCut cuts all connections to the database at the point.
	KindCut = "cut"
	// KindLose removes the record of the message from Redis, as an eviction does.
	KindLose = "lose"
	// KindJump changes the record of the message in Redis as if Redis's clock had jumped.
	KindJump = "jump"
)

// losing damages records of a store.
type losing interface {
	lose(ctx context.Context, key dedupe.Key) error
	jump(ctx context.Context, key dedupe.Key) error
}

// errNothingToLose is returned at a point where the record to damage is not known.
var errNothingToLose = errors.New("no record to lose")

// arm arms a point for its next hit, and makes sure that the process reaches the point soon.
func (p *process) arm(c Command) {
	p.disarm()
	var fired atomic.Bool
	sticky := failpoint.Name(c.Point) == failpoint.DedupeExtendFail && c.Kind == KindError
	err := p.points.Enable(failpoint.Name(c.Point), failpointtest.Call(func(ctx context.Context) error {
		if fired.Swap(true) {
			if sticky { // otherwise the next extension would make up for the failed one
				return fmt.Errorf("fault %d: %w", c.Fault, failpointtest.ErrInjected)
			}
			return nil
		}
		p.watch.begin(c.Fault)
		p.reports.say(Report{Said: SaidFired, Fault: c.Fault, Inflight: p.inflight.Load() + underWay(c.Point)})
		return p.strike(ctx, c)
	}))
	if err != nil {
		p.log.Error("point not armed", slog.Any("error", err))
		return
	}
	p.lead(failpoint.Name(c.Point))
}

// disarm disarms all points.
func (p *process) disarm() {
	for _, name := range failpoint.Names() {
		p.points.Disable(name)
	}
	p.dawdle.Store(0)
}

// strike carries out the fault at its point.
func (p *process) strike(ctx context.Context, c Command) error {
	switch c.Kind {
	case KindPanic:
		panic(fmt.Sprintf("fault %d at %s", c.Fault, c.Point))
	case KindExit:
		os.Exit(failpointtest.ExitStatus)
	case KindStop:
		return syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case KindRebalance:
		return nil // the driver makes the other member leave
	case KindPause:
		if !wait.Full(ctx, c.For) {
			return ctx.Err()
		}
		return nil
	case KindCancel:
		p.stop()
		return nil
	case KindCut:
		p.connections.cut()
		return nil
	case KindLose, KindJump:
		return p.unsettle(ctx, c.Kind)
	}
	return fmt.Errorf("fault %d: %w", c.Fault, failpointtest.ErrInjected)
}

// unsettle damages the record of the message that a handler with this ctx processes.
func (p *process) unsettle(ctx context.Context, kind string) error {
	run, ok := dedupe.FromContext(ctx)
	switch {
	case !ok || p.loses == nil:
		return errNothingToLose
	case kind == KindLose:
		return p.loses.lose(ctx, run.Key)
	default:
		return p.loses.jump(ctx, run.Key)
	}
}

// lead makes sure that a rarely passed point is reached soon.
func (p *process) lead(point failpoint.Name) {
	switch point {
	case failpoint.RelayClaimWaits, failpoint.RelayLeaseAcquired, failpoint.RelayFenced, failpoint.RelayPositionRead:
		p.once(failpoint.RelayBetweenPages, func() error { return failpointtest.ErrInjected }) // makes the relay begin a new term
	case failpoint.RelayCloseMidBatch:
		p.once(failpoint.RelayLeaseLostWhileSending, func() error { p.stop(); return nil }) // stops it just before a batch is sent
	case failpoint.ConsumerRebalanceMidHandler:
		p.dawdle.Store(int64(busyFor))
	case failpoint.DedupeExtendFail:
		p.dawdle.Store(int64(2 * NoticeLease))
	default:
	}
}

// once calls f at the next hit of a point.
func (p *process) once(point failpoint.Name, f func() error) {
	var done atomic.Bool
	_ = p.points.Enable(point, failpointtest.Call(func(context.Context) error {
		if done.Swap(true) {
			return nil
		}
		return f()
	}))
}

// underWay returns how many records are at least in flight when a relay passes a point. If it returns 0,
// the driver counts the backlog instead.
func underWay(point string) int64 {
	switch failpoint.Name(point) {
	case failpoint.RelayAfterFetch, failpoint.RelayBetweenPages, failpoint.RelayLeaseLostWhileSending,
		failpoint.RelayMidBatch, failpoint.RelaySentNotAcked, failpoint.RelayAckedBeforeAdvance,
		failpoint.RelayLatePositionWrite, failpoint.RelayAdvanceAmbiguous, failpoint.RelayBeforePark,
		failpoint.RelayAfterPark, failpoint.RelayCloseMidBatch, failpoint.RelayTransactionBegun,
		failpoint.RelayTransactionFlushed:
		return 1
	default:
		return 0
	}
}

// slow waits if the driver has requested a slow handler.
func (p *process) slow(ctx context.Context) error {
	if d := time.Duration(p.dawdle.Swap(0)); d > 0 && !wait.Full(ctx, d) {
		return context.Cause(ctx)
	}
	return nil
}
