package pgoutbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// Maintenance maintains the log: it creates ranges ahead of the sequence, closes the current one
// by age or size, drops those behind every group, and moves delayed messages into the log when
// they are due. Run it next to every relay; of all that run, one works at a time.
//
// It needs what a relay needs, SELECT, UPDATE and DELETE on the table of delayed messages, INSERT
// on the log, and with KeepAudit SELECT and DELETE on the audit; without NoDDL its role is a
// member of the log's owner and may CREATE in the schema, with NoDDL it has DELETE on the log. It
// uses two or three, at most four connections of the pool at a time, which may go through a
// pooler in transaction mode. While it works it also has one of its own, which holds its leases
// and is shared by all outboxes on the pool.
type Maintenance struct {
	ob      *Outbox
	cfg     MaintenanceConfig
	sql     maintenanceStatements
	log     *slog.Logger
	keeping *leasedTask
	timing  *leasedTask
	running atomic.Bool
	// archived are ranges that were archived and could not be dropped yet, with a snapshot of
	// what the archive has seen at least. Only the running round uses it.
	archived map[string]string
	looked   time.Time // when delayed messages were looked for. Only promoteDue uses it.
	clock    clocks.Watch
	alarms   hooks.Alarms // only the running round uses it
}

// NewMaintenance returns the maintenance of ob. It returns an error that wraps
// outbox.ErrInvalidConfig if ob is nil or cfg is invalid. It connects to nothing.
func NewMaintenance(ob *Outbox, cfg MaintenanceConfig) (*Maintenance, error) {
	if ob == nil {
		return nil, outbox.ConfigError("ob", nil, "must not be nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	m := &Maintenance{
		ob: ob, cfg: cfg, log: ob.cfg.Logger, archived: map[string]string{}, alarms: hooks.Alarms{Log: ob.cfg.Logger, Hooks: cfg.Hooks},
	}
	var err error
	if m.sql, err = loadMaintenance(ob.cfg); err != nil {
		return nil, err
	}
	if m.keeping, err = ob.task(maintenanceLease, cfg.Lease); err != nil {
		return nil, err
	}
	m.timing, err = ob.task(delayedLease, cfg.Lease)
	return m, err
}

// Run maintains the log until ctx ends, and then returns nil, with every goroutine ended. Of any
// number of processes, one works at a time; another takes over within the lease. Only a schema
// that is missing or too old ends Run before ctx does (outbox.ErrNotMigrated); every other error
// is logged and tried again. A second Run at the same time returns outbox.ErrAlreadyRunning.
func (m *Maintenance) Run(ctx context.Context) error {
	if !m.running.CompareAndSwap(false, true) {
		return fmt.Errorf("%w: maintenance of the outbox", outbox.ErrAlreadyRunning)
	}
	defer m.running.Store(false)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var errs [2]error
	wg.Go(func() {
		defer cancel()
		errs[0] = m.serve(ctx, m.keeping, func(ctx context.Context) (time.Duration, error) {
			report, err := m.round(ctx)
			if err != nil && ctx.Err() == nil {
				m.log.WarnContext(ctx, "maintenance is not complete", slog.Any("error", err))
			}
			if report.Busy {
				return min(m.cfg.Interval, 10*time.Second), nil
			}
			return m.cfg.Interval, nil
		})
	})
	wg.Go(func() {
		defer cancel()
		defer m.ob.delays.await()()
		errs[1] = m.serve(ctx, m.timing, m.promoteDue)
	})
	wg.Wait()
	m.alarms.End(context.WithoutCancel(ctx))
	return errors.Join(errs[:]...)
}

// RunOnce does one round and moves due messages, for scheduled jobs and tests. While another
// process works it returns a *driver.LeaseHeldError. After any other error the report has what
// was done before it.
func (m *Maintenance) RunOnce(ctx context.Context) (admin.MaintenanceReport, error) {
	if !m.running.CompareAndSwap(false, true) {
		return admin.MaintenanceReport{}, fmt.Errorf("%w: maintenance of the outbox", outbox.ErrAlreadyRunning)
	}
	defer m.running.Store(false)
	if err := m.check(ctx); err != nil {
		m.keeping.failed(ctx, err)
		return admin.MaintenanceReport{}, err
	}
	var report admin.MaintenanceReport
	err := m.keeping.Run(ctx, func(ctx context.Context) (err error) {
		report, err = m.round(ctx)
		return err
	})
	promoted := m.timing.Run(ctx, func(ctx context.Context) (err error) {
		report.Promoted, _, err = m.promote(ctx)
		return err
	})
	if errors.Is(promoted, driver.ErrLeaseHeld) {
		promoted = nil // another process does it
	}
	return report, errors.Join(err, promoted)
}

// standbyPoll is how soon a standby process checks whether the working one has died.
const standbyPoll = 2 * time.Second

// serve does the work of a task repeatedly, with the waits that it asks for.
func (m *Maintenance) serve(ctx context.Context, task *leasedTask, work func(context.Context) (time.Duration, error)) error {
	checked := false
	retry := time.Second
	for ctx.Err() == nil {
		began, err := time.Now(), error(nil)
		if !checked {
			if err = m.check(ctx); err != nil {
				task.failed(ctx, err)
			}
			checked = err == nil
		}
		if err == nil {
			err = task.Run(ctx, func(ctx context.Context) error { return repeat(ctx, work) })
		}
		held, isHeld := errors.AsType[*driver.LeaseHeldError](err)
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, outbox.ErrNotMigrated):
			return err
		case isHeld:
			if task == m.keeping {
				m.alarms.End(ctx)
			}
			wake := min(held.Remaining, m.cfg.Lease/5)
			if held.Retry > 0 {
				wake = min(wake, standbyPoll)
			}
			_ = wait.For(ctx, max(wake, time.Millisecond))
		case err != nil:
			m.log.WarnContext(ctx, "maintenance starts over", slog.String("lease", task.lease), slog.Any("error", err))
			if time.Since(began) > time.Minute {
				retry = time.Second
			}
			_ = wait.For(ctx, retry)
			retry = min(2*retry, 30*time.Second)
		}
	}
	return nil
}

// repeat does work until ctx ends or it fails.
func repeat(ctx context.Context, work func(context.Context) (time.Duration, error)) error {
	for ctx.Err() == nil {
		next, err := work(ctx)
		if err != nil {
			return err
		}
		_ = wait.For(ctx, next)
	}
	return ctx.Err()
}

// promoteDue moves due messages into the log and returns when to look again.
func (m *Maintenance) promoteDue(ctx context.Context) (time.Duration, error) {
	next := time.Until(m.ob.delays.until(m.looked, m.cfg.DelayedPoll)) // if a relay of this process has looked
	var err error
	if next <= 0 {
		m.looked = time.Now()
		next, err = m.ob.untilDue(ctx, m.cfg.DelayedPoll)
	}
	if err != nil || next > 0 {
		m.timing.done(ctx, admin.MaintenanceReport{}, err)
		return next, err
	}
	moved, stayed, err := m.promote(ctx)
	if stayed || moved == 0 {
		// A transaction holds a key, or the message is due and was not moved: whatever the reason,
		// asking again at once would not help.
		return min(m.cfg.DelayedPoll, 20*time.Millisecond), err
	}
	return time.Millisecond, err
}

// check finds out whether maintenance can work here.
func (m *Maintenance) check(ctx context.Context) error {
	return m.ob.requireSchema(ctx)
}

// round does one round, and calls the hooks.
func (m *Maintenance) round(ctx context.Context) (admin.MaintenanceReport, error) {
	r, began := &round{Maintenance: m}, time.Now()
	err := r.all(ctx)
	m.alarms.Round(ctx, r.report.Alarms, err == nil && !r.report.Busy)
	m.keeping.done(ctx, r.report, err)
	m.observe(ctx, admin.MaintenanceEvent{Report: r.report, Took: time.Since(began), Err: err})
	return r.report, err
}

// all does every step of the round. A step that fails does not prevent the next one.
func (r *round) all(ctx context.Context) error {
	m := r.Maintenance
	facts, err := m.ob.window.Facts(ctx, m.ob.pool)
	if err != nil {
		return describe(err)
	}
	r.sequence, r.last = facts.Sequence, facts.Last
	r.clock.Number(r.last)
	var errs []error
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"ranges ahead", r.ahead}, {"range in use", r.closeRange}, {"groups", r.groups}, {"retention", r.retain}, {"prune", r.prune},
	} {
		err := step.do(ctx)
		switch {
		case ctx.Err() != nil:
			return errors.Join(append(errs, err, ctx.Err())...)
		case isBusy(err):
			r.report.Busy = true
			r.alarm(ctx, outbox.AlarmEvent{Kind: AlarmBusy})
			m.log.InfoContext(ctx, "producers hold the log, later again", slog.String("operation", step.name), slog.Any("error", err))
		case err != nil:
			errs = append(errs, fmt.Errorf("leat: maintenance, %s: %w", step.name, describe(err)))
		}
	}
	return errors.Join(errs...)
}

// round is one pass of maintenance.
type round struct {
	*Maintenance

	sequence uint32
	last     int64 // the number that the sequence has reached
	report   admin.MaintenanceReport
	known    bool     // the groups were examined
	exempt   []string // groups that exceed their greatest lag
	doubted  bool     // the database's clock is not trusted
	trim     string   // the open-ended range, if it is too large to be closed
}

func (r *round) alarm(ctx context.Context, a outbox.AlarmEvent) {
	a.Package = "pgoutbox"
	r.report.Alarms = append(r.report.Alarms, a)
	r.log.LogAttrs(ctx, slog.LevelWarn, "outbox maintenance alarm", logged(a)...)
	r.alarms.Raise(ctx, a)
}
