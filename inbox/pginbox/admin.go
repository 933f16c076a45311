package pginbox

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/inbox/internal/pgpark"
	"github.com/leat-go/leat/inbox/internal/pgview"
	"github.com/leat-go/leat/inbox/pgwatermark"
)

// operators is the admin.Inbox that NewAdmin returns.
type operators struct {
	*pgpark.Admin
	*pgview.View
	admin.Watermarks

	kept *retention
}

var (
	_ admin.Inbox      = (*operators)(nil)
	_ admin.Auditor    = (*operators)(nil)
	_ admin.Retainer   = (*operators)(nil)
	_ admin.Watermarks = (*operators)(nil)
)

// NewAdmin returns the operators' interface to all consumers of the tables that cfg names,
// including those with positions, and to their parked messages. It is also an admin.Auditor, an
// admin.Retainer and an admin.Watermarks. It registers no consumer.
//
// The ids of a consumer are counted up to 10,000, and estimated by the planner beyond that.
// Redrive changes each key in a transaction of its own, and Drop each message, the first one of a
// key last. It works on a standby, too, where Lookup cannot see which messages a process is
// handling. The package comment lists the privileges for each call. Errors include
// outbox.ErrRowSecurity if row level security would hide rows, and outbox.ErrNotMigrated if
// tables are missing.
//
// Of cfg only Schema, Table and Logger matter. NewAdmin connects to nothing. Errors wrap
// outbox.ErrInvalidConfig. The caller closes the pool.
func NewAdmin(pool *pgxpool.Pool, cfg Config) (admin.Inbox, error) {
	handle, err := pgclaim.FromPool(pool, "", nil)
	if err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	names := cfg.schema().Names()
	base, err1 := pgclaim.NewAdmin(handle.DB(), names)
	park, err2 := pgpark.NewAdmin(base, names)
	view, err3 := pgview.New(base, names)
	kept, err4 := newRetention(base, cfg)
	positions := pgwatermark.Config{Schema: cfg.Schema, Table: cfg.Table}
	positions.Logger = cfg.Logger
	watermarks, err5 := pgwatermark.NewAdmin(pool, positions)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	return &operators{Admin: park, View: view, Watermarks: watermarks, kept: kept}, nil
}

// Retention implements admin.Retainer.
func (o *operators) Retention(ctx context.Context) (admin.Retention, error) {
	return o.kept.look(ctx)
}

// LowerFloor implements admin.Retainer.
func (o *operators) LowerFloor(ctx context.Context, r admin.LowerFloorRequest) (previous time.Time, err error) {
	return o.kept.lowerFloor(ctx, r)
}
