package pginbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
	outboxdriver "github.com/leat-go/leat/outbox/driver"
)

var (
	// ErrNotEnabled is returned by maintenance of an inbox for which Enable was never
	// called. Such an inbox remembers everything for ever.
	ErrNotEnabled = errors.New("leat: the inbox forgets nothing yet: enable its retention")

	// errElsewhere is returned by RunOnce while another process works.
	errElsewhere = fmt.Errorf("%w: maintenance of the inbox", outboxdriver.ErrLeaseHeld)

	// errIDsAhead is returned by Enable.
	errIDsAhead = errors.New("leat: the inbox holds an id that claims to be from the future; delete it once you know that it never comes again")
)

// Maintenance makes an inbox forget: it creates ranges ahead, and drops those that are older than
// Retention, in a way that no message in them can run again unnoticed. Run it in any number of
// processes; one of them works at a time.
//
// It needs SELECT, INSERT, UPDATE and DELETE on the tables of the inbox; without NoDDL its role
// must be a member of the tables' owner and needs CREATE on the schema. It uses one connection of
// the pool at a time, which should not go through a pooler in transaction mode: there it cannot
// bound its waits.
type Maintenance struct {
	*ranges

	pool       pgpin.Committed // the application's; single statements at SERIALIZABLE would abort deliveries
	cfg        MaintenanceConfig
	statements maintenanceStatements
	owner      string
	running    atomic.Bool
	seen       seenState
	clock      clocks.Watch

	// State that one round leaves for the next; only the running round uses it.
	swept    time.Time
	pruned   time.Time
	waiting  *raised
	standing hooks.Alarms
}

// NewMaintenance returns the maintenance of the inbox that cfg names; of cfg only
// Schema, Table and Logger matter. Errors wrap outbox.ErrInvalidConfig. It connects
// to nothing.
func NewMaintenance(pool *pgxpool.Pool, cfg Config, m MaintenanceConfig) (*Maintenance, error) {
	if pool == nil {
		return nil, outbox.ConfigError("pool", nil, "must not be nil")
	}
	return newMaintenance(pgpin.Of(pool), cfg, m)
}

func newMaintenance(sessions pgpin.Sessions, cfg Config, m MaintenanceConfig) (*Maintenance, error) {
	cfg, m = cfg.withDefaults(), m.withDefaults()
	if err := errors.Join(cfg.validate(), m.validate()); err != nil {
		return nil, err
	}
	r, err := newRanges(cfg, alarms{log: cfg.Logger, hooks: m.Hooks})
	if err != nil {
		return nil, err
	}
	owner, err := ids.New()
	if err != nil {
		return nil, err
	}
	statements, err := renderMaintenance(r.names)
	return &Maintenance{
		ranges: r, pool: pgpin.NewCommitted(sessions), cfg: m, statements: statements, owner: owner,
		standing: hooks.Alarms{Log: cfg.Logger, Hooks: m.Hooks},
	}, err
}

// Run maintains the inbox until ctx ends, and then returns nil. Of any number of processes, one
// works at a time; another takes over within the lease. Only problems that waiting does not fix
// end Run earlier: a schema without ranges (outbox.ErrNotMigrated), and ErrNotEnabled. All other
// errors are logged, and tried again in the next round.
func (m *Maintenance) Run(ctx context.Context) error {
	if !m.running.CompareAndSwap(false, true) {
		return fmt.Errorf("%w: maintenance of the inbox", outbox.ErrAlreadyRunning)
	}
	defer m.running.Store(false)
	defer m.standing.End(context.WithoutCancel(ctx))
	if err := m.cfg.Needs.Check(m.cfg.Retention); err != nil {
		m.alarm(ctx, outbox.AlarmEvent{Kind: AlarmRetention, Detail: err.Error()})
	}
	for ctx.Err() == nil {
		_, err := m.round(ctx)
		switch {
		case ctx.Err() != nil, err == nil, errors.Is(err, errElsewhere):
		case errors.Is(err, ErrNotEnabled), errors.Is(err, outbox.ErrNotMigrated):
			return err
		default:
			m.log.WarnContext(ctx, "inbox maintenance is not complete", slog.Any("error", err))
		}
		_ = wait.For(ctx, m.cfg.Interval)
	}
	return nil
}

// RunOnce does one round, for scheduled jobs and tests. While another process works the error
// wraps outbox/driver.ErrLeaseHeld. After any other error the report covers the work done before
// it.
func (m *Maintenance) RunOnce(ctx context.Context) (outboxadmin.MaintenanceReport, error) {
	if !m.running.CompareAndSwap(false, true) {
		return outboxadmin.MaintenanceReport{}, fmt.Errorf("%w: maintenance of the inbox", outbox.ErrAlreadyRunning)
	}
	defer m.running.Store(false)
	return m.round(ctx)
}

// round does one round, and calls the hooks.
func (m *Maintenance) round(ctx context.Context) (outboxadmin.MaintenanceReport, error) {
	r, began := &maintenanceRound{Maintenance: m}, time.Now()
	err := m.leased(ctx, r.all)
	m.seen.round(ctx, r.report, err)
	if errors.Is(err, errElsewhere) {
		m.standing.End(ctx)
		return r.report, err
	}
	m.standing.Round(ctx, r.alarmed, err == nil && !r.report.Busy)
	m.observe(ctx, outboxadmin.MaintenanceEvent{Report: r.report, Took: time.Since(began), Err: err})
	return r.report, err
}

// leased does work under the lease. The lease only saves work: each step is safe if two processes
// do it at once.
func (m *Maintenance) leased(ctx context.Context, work func(context.Context) error) error {
	if err := m.keep(ctx); err != nil {
		return err
	}
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), pgclaim.CleanUpTimeout)
		defer cancel()
		if _, releaseErr := m.pool.Exec(bounded, m.statements.release, m.owner); releaseErr != nil {
			m.log.WarnContext(ctx, "inbox maintenance keeps its lease until it runs out", slog.Any("error", releaseErr))
		}
	}()
	return work(ctx)
}

// keep takes or renews the lease.
func (m *Maintenance) keep(ctx context.Context) error {
	tag, err := m.pool.Exec(ctx, m.statements.lease, m.owner, m.cfg.Lease.Milliseconds())
	if err == nil && tag.RowsAffected() == 0 {
		err = errElsewhere
	}
	return pgclaim.Explain(err)
}
