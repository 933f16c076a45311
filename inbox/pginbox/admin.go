package pginbox

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/inbox/internal/pgpark"
	"github.com/leat-go/leat/inbox/internal/pgview"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/pgmigrate"
)

// Admin is what operators see of all consumers of the inbox's tables, those with positions
// included, and do about what is parked there. It registers nobody. It is safe for
// concurrent use.
//
// To look, and to ask for a dry run, takes USAGE on the schema and SELECT on the tables
// that are looked at. It works on a standby, too, where Lookup cannot see what a process has
// in hand. To change takes what the comment of the package says of parking, or the comment
// of pgwatermark of positions. Row level security that would hide rows is outbox.ErrRowSecurity,
// and tables that are not there are outbox.ErrNotMigrated.
type Admin struct {
	parking    *pgpark.Admin
	view       *pgview.View
	watermarks *pgwatermark.Admin
	retention  *retention
}

var (
	_ admin.Inbox      = (*Admin)(nil)
	_ admin.Auditor    = (*Admin)(nil)
	_ admin.Retainer   = (*Admin)(nil)
	_ admin.Watermarks = (*Admin)(nil)
)

// NewAdmin returns the Admin of the tables that cfg names; of cfg only Schema, Table and
// Logger matter. It connects to nothing. Errors wrap outbox.ErrInvalidConfig. The pool
// stays the caller's to close.
func NewAdmin(pool *pgxpool.Pool, cfg Config) (*Admin, error) {
	handle, err := pgclaim.FromPool(pool, "", nil)
	if err != nil {
		return nil, err
	}
	watermarks, err := pgwatermark.NewAdmin(pool, cfg.positions())
	if err != nil {
		return nil, err
	}
	return newAdmin(handle.DB(), cfg, watermarks)
}

// NewAdminSQL is NewAdmin on database/sql. The driver of db must be pgx's own; see NewSQL.
func NewAdminSQL(db *sql.DB, cfg Config) (*Admin, error) {
	handle, err := pgclaim.FromSQL(db, "", nil)
	if err != nil {
		return nil, err
	}
	watermarks, err := pgwatermark.NewAdminSQL(db, cfg.positions())
	if err != nil {
		return nil, err
	}
	return newAdmin(handle.DB(), cfg, watermarks)
}

func newAdmin(db pgmigrate.DB, cfg Config, watermarks *pgwatermark.Admin) (*Admin, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	names := cfg.schema().Names()
	base, err1 := pgclaim.NewAdmin(db, names)
	parking, err2 := pgpark.NewAdmin(base, names)
	view, err3 := pgview.New(base, names)
	kept, err4 := newRetention(base, cfg)
	return &Admin{parking: parking, view: view, watermarks: watermarks, retention: kept}, errors.Join(err1, err2, err3, err4)
}

// positions is the configuration of the inboxes of positions in the same tables.
func (c Config) positions() pgwatermark.Config {
	p := pgwatermark.Config{Schema: c.Schema, Table: c.Table}
	p.Logger = c.Logger
	return p
}

// Redrive implements admin.Inbox. Each key is changed in a transaction of its own.
func (a *Admin) Redrive(ctx context.Context, r admin.ChangeRequest) (admin.Changed, error) {
	return a.parking.Redrive(ctx, r)
}

// SkipHead implements admin.Inbox.
func (a *Admin) SkipHead(ctx context.Context, r admin.SkipHeadRequest) (admin.Changed, error) {
	return a.parking.SkipHead(ctx, r)
}

// Drop implements admin.Inbox. Each message is dropped in a transaction of its own, the
// first one of a key last.
func (a *Admin) Drop(ctx context.Context, r admin.ChangeRequest) (admin.Changed, error) {
	return a.parking.Drop(ctx, r)
}

// SetWatermark implements admin.Watermarks.
func (a *Admin) SetWatermark(ctx context.Context, r admin.SetWatermarkRequest) (previous int64, err error) {
	return a.watermarks.SetWatermark(ctx, r)
}

// RemoveWatermark implements admin.Watermarks.
func (a *Admin) RemoveWatermark(ctx context.Context, r admin.RemoveWatermarkRequest) (previous int64, err error) {
	return a.watermarks.RemoveWatermark(ctx, r)
}

// AcceptSource implements admin.Watermarks.
func (a *Admin) AcceptSource(ctx context.Context, r admin.AcceptSourceRequest) (previous string, err error) {
	return a.watermarks.AcceptSource(ctx, r)
}
