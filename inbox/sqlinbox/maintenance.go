package sqlinbox

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

// AlarmClock is raised if the clocks of the database and of this process differ by more than an hour, or if the clock
// of the database has jumped: nothing is forgotten until it is trusted again. It is also raised if the floor is ahead
// of the database's clock, because both clocks were wrong together. Rounds of maintenance fail then.
const AlarmClock outbox.AlarmKind = "clock"

// MaintenanceConfig tunes a Maintenance.
type MaintenanceConfig struct {
	// Retention is how long ids are remembered, one hour or more: those of version 7 by the
	// time in them, others since they were processed. A message that is older is refused
	// with driver.ErrTooOld if its id is of version 7, and runs again otherwise.
	// Required.
	Retention time.Duration
	// KeepAttempts is how long attempts at messages that were never redelivered are remembered,
	// one hour or more. Defaults to Retention.
	KeepAttempts time.Duration
	// KeepAudit is how long entries of the audit are kept, 24 hours or more. Defaults to 0: for
	// ever.
	KeepAudit time.Duration
	// Interval is the time between two rounds, one second or more. Defaults to 10 minutes.
	Interval time.Duration
	// Hooks observe maintenance, by admin.MaintenanceHook and outbox.AlarmHook. Defaults to none.
	Hooks []outbox.Hook
	// Logger receives errors. Defaults to slog.Default().
	Logger *slog.Logger
}

func (c MaintenanceConfig) withDefaults() MaintenanceConfig {
	c.KeepAttempts = cmp.Or(c.KeepAttempts, c.Retention)
	c.Interval = cmp.Or(c.Interval, 10*time.Minute)
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c MaintenanceConfig) validate() error {
	switch {
	case c.Retention < time.Hour:
		return outbox.ConfigError("Retention", c.Retention, "must be 1h or more")
	case c.KeepAttempts < time.Hour:
		return outbox.ConfigError("KeepAttempts", c.KeepAttempts, "must be 1h or more")
	case c.KeepAudit != 0 && c.KeepAudit < 24*time.Hour:
		return outbox.ConfigError("KeepAudit", c.KeepAudit, "must be 24h or more")
	case c.Interval < time.Second:
		return outbox.ConfigError("Interval", c.Interval, "must be 1s or more")
	}
	return hooks.Refuse(c.Hooks, "sqlinbox", hooks.Is[outboxadmin.MaintenanceHook], hooks.Is[outbox.AlarmHook])
}

// Maintenance deletes old data of all consumers of a table. Any number of processes may run one.
type Maintenance struct {
	*tables

	cfg     MaintenanceConfig
	running atomic.Bool
	after   map[int64][]byte // where the search for ids without a time continues, by consumer
	seen    seenState
	clock   clocks.Watch
	alarms  hooks.Alarms // only the running round uses it
}

// NewMaintenance returns the Maintenance of the inboxes that were made with db, dialect and
// cfg. Of cfg only Table matters. It does not touch the database. Errors wrap
// outbox.ErrInvalidConfig.
func NewMaintenance(db *sql.DB, dialect outbox.Dialect, cfg Config, m MaintenanceConfig) (*Maintenance, error) {
	m = m.withDefaults()
	if err := m.validate(); err != nil {
		return nil, err
	}
	t, err := newTables(db, dialect, Config{Table: cfg.Table}.withDefaults())
	if err != nil {
		return nil, err
	}
	return &Maintenance{tables: t, cfg: m, after: map[int64][]byte{}, alarms: hooks.Alarms{Log: m.Logger, Hooks: m.Hooks}}, nil
}

// Run repeats RunOnce until ctx ends, and logs errors. It then returns nil; it returns
// outbox.ErrAlreadyRunning at once if another call is running.
func (m *Maintenance) Run(ctx context.Context) error {
	if !m.running.CompareAndSwap(false, true) {
		return fmt.Errorf("%w: maintenance of the inbox", outbox.ErrAlreadyRunning)
	}
	defer m.running.Store(false)
	defer m.alarms.End(context.WithoutCancel(ctx))
	for {
		if _, err := m.once(ctx); err != nil && ctx.Err() == nil {
			m.cfg.Logger.ErrorContext(ctx, "leat: maintenance of the inbox failed",
				slog.String("table", m.Table), slog.Any("error", err))
		}
		if wait.For(ctx, m.cfg.Interval) != nil {
			return nil // ctx has ended: the normal end
		}
	}
}

// RunOnce raises the floor, then deletes what is below it, a thousand rows at a time. While
// another call of it or of Run is in progress it returns outbox.ErrAlreadyRunning.
func (m *Maintenance) RunOnce(ctx context.Context) (outboxadmin.MaintenanceReport, error) {
	if !m.running.CompareAndSwap(false, true) {
		return outboxadmin.MaintenanceReport{}, fmt.Errorf("%w: maintenance of the inbox", outbox.ErrAlreadyRunning)
	}
	defer m.running.Store(false)
	return m.once(ctx)
}

// once does one round and calls the hooks.
func (m *Maintenance) once(ctx context.Context) (outboxadmin.MaintenanceReport, error) {
	began := time.Now()
	r, err := m.round(ctx)
	r.Alarms = m.alarms.Clock(ctx, outbox.AlarmEvent{Package: "sqlinbox", Kind: AlarmClock}, err)
	m.seen.round(ctx, r, err)
	e := outboxadmin.MaintenanceEvent{Report: r, Took: time.Since(began), Err: err}
	hooks.Call(ctx, m.cfg.Logger, m.cfg.Hooks, func(h outboxadmin.MaintenanceHook) { h.OnAdminMaintenance(ctx, e) })
	return r, err
}

func (m *Maintenance) round(ctx context.Context) (r outboxadmin.MaintenanceReport, err error) {
	now, floor, err := m.floor(ctx, "floor_lowest")
	if err == nil {
		r.Floor = floor
		err = m.clock.Look(now)
	}
	if err != nil {
		return r, err
	}
	before := m.clock.Limit(floor, now.Add(-m.cfg.Retention))
	if err := m.move(ctx, "floor_below", before.UnixMilli()); err != nil {
		return r, m.Describe(err)
	}
	if _, r.Floor, err = m.floor(ctx, "floor_lowest"); err != nil {
		return r, err
	}
	if r.Deleted, err = m.forget(ctx, r.Floor, before); err != nil {
		return r, m.Describe(err)
	}
	r.PrunedAttempts, err = m.pruneAttempts(ctx, now.Add(-m.cfg.KeepAttempts))
	if err == nil && m.cfg.KeepAudit > 0 {
		r.PrunedAudit, err = m.pruneAudit(ctx, now.Add(-m.cfg.KeepAudit))
	}
	if err == nil {
		err = clocks.Ahead(r.Floor, now)
	}
	return r, m.Describe(err)
}

// floor returns the database's clock and a floor: the lowest of all buckets, below which ids in
// every bucket may be forgotten (floor_lowest), or the highest, below which ids in some bucket
// may be (floor_highest). It is zero if there is none.
func (t *tables) floor(ctx context.Context, which string) (now, floor time.Time, err error) {
	var micros, millis int64
	err = t.Query(ctx, func(q sqlstore.Querier) error {
		return q.QueryRowContext(ctx, t.SQL[which], t.buckets()).Scan(&micros, &millis)
	})
	if millis > 0 {
		floor = time.UnixMilli(millis).UTC()
	}
	return sqlstore.Time(micros), floor, err
}

// move raises the floors that are below floor (floor_below), or lowers those above it
// (floor_above), of the buckets that no delivery is using; the others are left for another call.
// A raised floor is committed before anything below it is deleted, and under the lock under which
// claims read it. So a claim that does not find a deleted id sees the floor above it.
func (t *tables) move(ctx context.Context, which string, floor int64) error {
	for past := int64(-1); ; {
		var found []int64
		err := t.Change(ctx, func(tx *sql.Tx) error {
			err := sqlstore.Each(ctx, tx, func(scan sqlstore.Scanner) error {
				var bucket int64
				err := scan(&bucket)
				found = append(found, bucket)
				return err
			}, t.SQL[which], past, t.buckets(), floor)
			if err != nil || len(found) == 0 {
				return err
			}
			_, err = sqlstore.Written(ctx, tx, t.SQL.List("floor_set", len(found)), append([]any{floor}, sqlstore.Anys(found)...)...)
			return err
		})
		if err != nil || len(found) == 0 {
			return err
		}
		past = found[len(found)-1]
	}
}
