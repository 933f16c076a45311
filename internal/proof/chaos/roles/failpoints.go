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
	// KindPanic makes it panic.
	KindPanic = "panic"
	// KindExit ends the process at the point.
	KindExit = "exit"
	// KindStop stops the process there, as SIGSTOP does, until the driver continues it.
	KindStop = "stop"
	// KindPause makes the point wait.
	KindPause = "pause"
	// KindCancel ends the context of the role there: it stops in order.
	KindCancel = "cancel"
	// KindRebalance makes another member leave the group there.
	KindRebalance = "rebalance"
	// KindObserved is a fault that was not injected.
	KindObserved = "observed"
	// KindCut cuts all connections to the database there.
	KindCut = "cut"
	// KindLose removes the record of the message from Redis.
	KindLose = "lose"
	// KindJump makes Redis's clock look as if it had stepped, for that record.
	KindJump = "jump"
)

// losing loses records of a store.
type losing interface {
	lose(ctx context.Context, key dedupe.Key) error
	jump(ctx context.Context, key dedupe.Key) error
}

// errNothingToLose is returned by a point at which no record is known.
var errNothingToLose = errors.New("no record to lose")

// arm arms a point for its next hit, and makes sure that the point is reached.
func (p *process) arm(c Command) {
	p.disarm()
	var fired atomic.Bool
	sticky := failpoint.Name(c.Point) == failpoint.DedupeExtendFail && c.Kind == KindError
	err := p.points.Enable(failpoint.Name(c.Point), failpointtest.Call(func(ctx context.Context) error {
		if fired.Swap(true) {
			if sticky { // the next extension makes up for a lost one
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

// strike carries out the fault.
func (p *process) strike(ctx context.Context, c Command) error {
	switch c.Kind {
	case KindPanic:
		panic(fmt.Sprintf("fault %d at %s", c.Fault, c.Point))
	case KindExit:
		os.Exit(failpointtest.ExitStatus)
	case KindStop:
		return syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case KindRebalance:
		return nil // the driver makes another member leave
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

// unsettle damages the record of the message whose handler has ctx.
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
		p.once(failpoint.RelayBetweenPages, func() error { return failpointtest.ErrInjected }) // a new term begins
	case failpoint.RelayCloseMidBatch:
		p.once(failpoint.RelayLeaseLostWhileSending, func() error { p.stop(); return nil }) // just before a batch is sent
	case failpoint.ConsumerRebalanceMidHandler:
		p.dawdle.Store(int64(busyFor))
	case failpoint.DedupeExtendFail:
		p.dawdle.Store(int64(2 * NoticeLease))
	default:
	}
}

// once does f at the next hit of a point.
func (p *process) once(point failpoint.Name, f func() error) {
	var done atomic.Bool
	_ = p.points.Enable(point, failpointtest.Call(func(context.Context) error {
		if done.Swap(true) {
			return nil
		}
		return f()
	}))
}

// underWay returns how many records are in flight, at least, when a relay passes a point. If it is
// 0, the driver counts the backlog instead.
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

// slow waits if a handler was asked to take its time.
func (p *process) slow(ctx context.Context) error {
	if d := time.Duration(p.dawdle.Swap(0)); d > 0 && !wait.Full(ctx, d) {
		return context.Cause(ctx)
	}
	return nil
}
