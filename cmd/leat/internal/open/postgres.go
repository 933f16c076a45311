package open

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	inboxdriver "github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/wmforward"
)

// Postgres is a PostgreSQL database.
type Postgres struct {
	// Pool has the connections.
	Pool *pgxpool.Pool

	target Target
	room   *pgpin.Room
}

// connections is the most connections of a command.
const connections = 4

// idleTime is how long a pool keeps an idle connection: a little longer than the interval of the daemon's
// pings. lookTime is how often the pool checks.
const idleTime, lookTime = 6 * time.Second, time.Second

func openPostgres(ctx context.Context, t Target) (*Postgres, error) {
	cfg, err := pgxpool.ParseConfig(t.URL)
	if err != nil {
		return nil, outbox.ConfigError("database", settings.Redact(t.URL), pgerr.Address(t.URL, err))
	}
	cfg.MaxConns = int32(cmp.Or(t.Connections, connections)) //nolint:gosec // some hundreds at most
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "leat"
	}
	if t.Dial != nil {
		cfg.ConnConfig.DialFunc = t.Dial
	}
	cfg.MaxConnIdleTime, cfg.HealthCheckPeriod = idleTime, lookTime
	cfg.BeforeConnect = t.credentials
	cfg.AfterConnect = ready
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Postgres{Pool: pool, target: t, room: pgpin.RoomOf(pool)}, nil
}

// credentials sets the current user and password: password files, including PGPASSFILE, are read again for
// each connection.
func (t Target) credentials(_ context.Context, cfg *pgx.ConnConfig) error {
	url, err := t.again()
	if err != nil {
		return outbox.ConfigError("database", settings.Redact(t.URL), err.Error())
	}
	now, err := pgx.ParseConfig(url)
	if err != nil {
		return outbox.ConfigError("database", settings.Redact(url), pgerr.Address(url, err))
	}
	cfg.User, cfg.Password = now.User, now.Password
	return nil
}

// ready prepares a new session. It rejects a session from those that the server reserves.
func ready(ctx context.Context, conn *pgx.Conn) error {
	if err := pgpin.RefuseReserved(ctx, conn); err != nil {
		return err
	}
	return pinPath(ctx, conn)
}

// pinPath sets the search path of a session, so that objects created by others are not called (rule S12). A
// pooler would pass the setting on to other clients. Behind one, the statements of outboxes and inboxes set
// the path themselves, and those of leat doctor use the role's path.
func pinPath(ctx context.Context, conn *pgx.Conn) error {
	direct, err := isDirect(ctx, conn)
	if err == nil && direct {
		_, err = conn.Exec(ctx, "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)")
	}
	return err
}

// Now is the time by the server's clock.
func (p *Postgres) Now(ctx context.Context) (now time.Time, err error) {
	err = p.Pool.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now)
	return now, err
}

// Close closes the pool.
func (p *Postgres) Close() { p.Pool.Close() }

func (p *Postgres) outboxConfig() pgoutbox.Config {
	return pgoutbox.Config{
		Schema: p.target.Schema, Table: p.target.Outbox, MigrateLockTimeout: p.target.LockTimeout, AllowAsyncCommit: p.target.AsyncCommit,
		Logger: p.target.Logger,
	}
}

func (p *Postgres) inboxConfig() pginbox.Config {
	cfg := pginbox.Config{Schema: p.target.Schema, Table: p.target.Inbox, MigrateLockTimeout: p.target.LockTimeout}
	cfg.Logger = p.target.Logger
	return cfg
}

func (p *Postgres) own() (*pgoutbox.Outbox, error) {
	if p.target.Forwarder != "" {
		return nil, refuse(forwarderTable, unable{"forwarder", p.target.Forwarder, true})
	}
	return pgoutbox.New(p.Pool, p.outboxConfig())
}

// Outbox returns leat's own outbox, or the forwarder's table.
func (p *Postgres) Outbox() (admin.Outbox, error) {
	if p.target.Forwarder == "" {
		own, err := p.own()
		if err != nil {
			return nil, err
		}
		return own.Admin(), nil
	}
	return wmforward.New(p.Pool, wmforward.Config{
		Topic: p.target.Forwarder, Schema: p.target.ForwarderSchema, Group: p.target.Group, Logger: p.target.Logger,
	})
}

// Inbox returns the inbox, with its ids and positions.
func (p *Postgres) Inbox() (inboxadmin.Inbox, error) {
	return pginbox.NewAdmin(p.Pool, p.inboxConfig())
}

// Marker implements Marks.
func (p *Postgres) Marker() (inboxdriver.Marker, error) {
	return pginbox.New(p.Pool, "leat", p.inboxConfig())
}

// History returns the records to replay.
func (p *Postgres) History(s Selection) (driver.History, error) {
	ob, err := p.own()
	if err != nil {
		return nil, err
	}
	return ob.History(pgoutbox.HistoryConfig{Group: s.Group, Since: s.From, Until: s.To, Topics: s.Topics, Keys: s.Keys, IDs: s.IDs})
}

// PlanRebase returns what Rebase would do.
func (p *Postgres) PlanRebase(ctx context.Context, r RebaseRequest) (RebasePlan, error) {
	ob, err := p.own()
	if err != nil {
		return RebasePlan{}, err
	}
	plan, err := ob.PlanRebase(ctx, r.request())
	return RebasePlan{
		Sends: plan.Sends, Repeats: plan.Repeats, LeavesOut: plan.LeavesOut, Guesses: plan.Guesses, Adopts: plan.Adopts, Later: plan.Later,
	}, err
}

// Rebase rebases a group onto the database as it is now.
func (p *Postgres) Rebase(ctx context.Context, r RebaseRequest) error {
	ob, err := p.own()
	if err != nil {
		return err
	}
	return ob.Rebase(ctx, r.request())
}

func (r RebaseRequest) request() pgoutbox.RebaseRequest {
	request := pgoutbox.RebaseRequest{
		Group: r.Group, KeepPosition: r.KeepPosition, Unsettled: r.Unsettled, LeaveOut: r.LeaveOut, Actor: r.Actor, Reason: r.Reason,
	}
	switch {
	case r.KeepPosition, r.Unsettled:
	case r.Oldest:
		request.Start.Oldest = true
	case r.At.IsZero():
		request.Start.Now = true
	default:
		request.Start.At = r.At
	}
	return request
}

// Maintain runs one round of maintenance.
func (p *Postgres) Maintain(ctx context.Context, r MaintenanceRequest) (admin.MaintenanceReport, error) {
	ob, err := p.own()
	if err != nil {
		return admin.MaintenanceReport{}, err
	}
	m, err := pgoutbox.NewMaintenance(ob, pgoutbox.MaintenanceConfig{
		Retention: r.Retention, MaxBytes: r.MaxBytes, PartitionSize: r.PartitionSize, Ahead: r.Ahead, NoDDL: r.NoDDL,
	})
	if err != nil {
		return admin.MaintenanceReport{}, err
	}
	return m.RunOnce(ctx)
}

// EnableRetention enables the inbox to forget.
func (p *Postgres) EnableRetention(ctx context.Context, retention, width time.Duration) error {
	m, err := pginbox.NewMaintenance(p.Pool, p.inboxConfig(), pginbox.MaintenanceConfig{Retention: retention, Width: width})
	if err != nil {
		return err
	}
	return m.Enable(ctx)
}

// errNoComponent is returned for names that are not in Components.
var errNoComponent = errors.New("must be outbox, inbox or dedupe")
