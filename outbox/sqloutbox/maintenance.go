package sqloutbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// AlarmClock is raised if the clocks of the database and of this process differ by more than an hour, or if the clock
// of the database has jumped. Rounds of maintenance fail then, and nothing is deleted or exempted until it is trusted
// again.
const AlarmClock outbox.AlarmKind = "clock"

// Maintenance moves delayed messages into the log when they are due, and deletes old ones that
// every group is past. Run it next to every relay: any number may run, and each task is done
// once.
//
// It needs SELECT on the tables of the log, delayed and held records, groups, locks, meta
// and the audit; INSERT, UPDATE and DELETE on the log, UPDATE on locks and meta, DELETE on
// delayed and held records and on the audit.
type Maintenance struct {
	ob      *Outbox
	cfg     MaintenanceConfig
	running atomic.Bool
	late    map[string]mark // what groups that seem late should have read, by their names
	seen    seenState
	clock   clocks.Watch
	alarms  hooks.Alarms // only the running round uses it
}

// MaintenanceConfig tunes Maintenance. The zero value is a good start.
type MaintenanceConfig struct {
	// Interval is the time between two rounds of retention. At least 1 ms.
	// Defaults to 1 min.
	Interval time.Duration

	// Retention is how long messages are kept for replay once every group is past them;
	// negative keeps them for ever. As long as no group has begun, nothing is deleted.
	// Defaults to 7 days.
	Retention time.Duration

	// DeleteChunk is the number of messages that one transaction deletes, 1 to 100,000.
	// Defaults to 1,000.
	DeleteChunk int

	// KeepAudit is how long entries of the audit are kept, KeepDead dead records.
	// Default to 0: for ever.
	KeepAudit, KeepDead time.Duration

	// DelayedPoll is how often delayed messages are looked up. A message that was seen before its
	// time is moved at its time; one that is delayed by less than DelayedPoll can be late by that
	// much. At least 1 ms. Defaults to 1 s.
	DelayedPoll time.Duration

	// Hooks observe maintenance, by admin.MaintenanceHook and outbox.AlarmHook. Defaults to none.
	Hooks []outbox.Hook
}

func (c MaintenanceConfig) withDefaults() MaintenanceConfig {
	c.Interval = cmp.Or(c.Interval, time.Minute)
	c.Retention = cmp.Or(c.Retention, 7*24*time.Hour)
	c.DeleteChunk = cmp.Or(c.DeleteChunk, 1000)
	c.DelayedPoll = cmp.Or(c.DelayedPoll, time.Second)
	return c
}

func (c MaintenanceConfig) validate() error {
	for _, f := range []struct {
		name  string
		value any
		bad   bool
		rule  string
	}{
		{"Interval", c.Interval, c.Interval < time.Millisecond, "must be at least 1ms"},
		{"DeleteChunk", c.DeleteChunk, c.DeleteChunk < 1 || c.DeleteChunk > 100_000, "must be 1 to 100000"},
		{"KeepAudit", c.KeepAudit, c.KeepAudit < 0, "must not be negative"},
		{"KeepDead", c.KeepDead, c.KeepDead < 0, "must not be negative"},
		{"DelayedPoll", c.DelayedPoll, c.DelayedPoll < time.Millisecond, "must be at least 1ms"},
	} {
		if f.bad {
			return outbox.ConfigError(f.name, f.value, f.rule)
		}
	}
	return hooks.Refuse(c.Hooks, "sqloutbox", hooks.Is[admin.MaintenanceHook], hooks.Is[outbox.AlarmHook])
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
	return &Maintenance{ob: ob, cfg: cfg, late: map[string]mark{}, alarms: hooks.Alarms{Log: ob.cfg.Logger, Hooks: cfg.Hooks}}, nil
}

// errorPause is the wait after a round that has failed.
const errorPause = time.Second

// Run works until ctx ends, and then returns nil. Only a missing schema ends it earlier
// (outbox.ErrNotMigrated); every other error is logged and tried again.
func (m *Maintenance) Run(ctx context.Context) error {
	if !m.running.CompareAndSwap(false, true) {
		return fmt.Errorf("%w: maintenance of the outbox", outbox.ErrAlreadyRunning)
	}
	defer m.running.Store(false)
	defer m.alarms.End(context.WithoutCancel(ctx))
	var next time.Time
	for ctx.Err() == nil {
		pause, err := m.promoteDue(ctx)
		if !time.Now().Before(next) {
			began := time.Now()
			report, retainErr := m.retain(ctx)
			m.observe(ctx, admin.MaintenanceEvent{Report: report, Took: time.Since(began), Err: retainErr})
			err = errors.Join(err, retainErr)
			next = time.Now().Add(m.cfg.Interval)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, outbox.ErrNotMigrated):
			return err
		case err != nil:
			m.ob.cfg.Logger.WarnContext(ctx, "maintenance is not complete", slog.Any("error", err))
			_ = wait.For(ctx, errorPause)
			continue
		}
		_ = wait.For(ctx, min(pause, max(time.Until(next), time.Millisecond)))
	}
	return nil
}

// RunOnce does one round, for scheduled jobs and tests. After an error the report has what was
// done before it.
func (m *Maintenance) RunOnce(ctx context.Context) (admin.MaintenanceReport, error) {
	if !m.running.CompareAndSwap(false, true) {
		return admin.MaintenanceReport{}, fmt.Errorf("%w: maintenance of the outbox", outbox.ErrAlreadyRunning)
	}
	defer m.running.Store(false)
	began := time.Now()
	promoted, stayed, promoteErr := m.ob.promote(ctx)
	m.seen.moved(ctx, stayed, promoteErr)
	report, err := m.retain(ctx)
	report.Promoted = int64(promoted)
	err = errors.Join(promoteErr, err)
	m.observe(ctx, admin.MaintenanceEvent{Report: report, Took: time.Since(began), Err: err})
	return report, err
}

// observe calls the hooks about what has ended, and records a round.
func (m *Maintenance) observe(ctx context.Context, e admin.MaintenanceEvent) {
	if !e.Between {
		m.seen.round(ctx, e.Report, e.Err)
	}
	hooks.Call(ctx, m.ob.cfg.Logger, m.cfg.Hooks, func(h admin.MaintenanceHook) { h.OnAdminMaintenance(ctx, e) })
}

// promoteDue moves due messages into the log and returns when to look again.
func (m *Maintenance) promoteDue(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	moved, stayed, err := m.ob.promote(ctx)
	m.seen.moved(ctx, stayed, err)
	if moved > 0 || err != nil {
		m.observe(ctx, admin.MaintenanceEvent{Between: true, Report: admin.MaintenanceReport{Promoted: int64(moved)}, Took: time.Since(began), Err: err})
	}
	if err != nil {
		return 0, err
	}
	soon := min(m.cfg.DelayedPoll, 20*time.Millisecond)
	if stayed {
		return soon, nil // a transaction holds a key
	}
	next, err := m.ob.untilDue(ctx, m.cfg.DelayedPoll)
	if next == 0 && moved == 0 {
		next = soon // a message is due and was not moved: asking again at once would not help
	}
	return max(next, time.Millisecond), err
}
