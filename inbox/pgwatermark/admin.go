package pgwatermark

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/pgpin"
)

// Admin is what operators see of the positions of all consumers, and do about them. It
// registers nobody. It is safe for concurrent use. Package pginbox has an Admin of the
// same tables that shows the rest of them as well.
type Admin struct {
	base pgclaim.Admin
	keys keys // of no consumer
	log  *slog.Logger
}

var _ admin.Watermarks = (*Admin)(nil)

// NewAdmin returns the Admin of the tables that cfg names; of cfg only Schema, Table and
// Logger matter. It connects to nothing. Errors wrap outbox.ErrInvalidConfig. The pool
// stays the caller's to close.
func NewAdmin(pool *pgxpool.Pool, cfg Config) (*Admin, error) {
	handle, err := pgclaim.FromPool(pool, "", nil)
	if err != nil {
		return nil, err
	}
	return newAdmin(handle.DB(), cfg)
}

// NewAdminSQL is NewAdmin on database/sql. The driver of db must be pgx's own; see
// pginbox.NewSQL.
func NewAdminSQL(db *sql.DB, cfg Config) (*Admin, error) {
	handle, err := pgclaim.FromSQL(db, "", nil)
	if err != nil {
		return nil, err
	}
	return newAdmin(handle.DB(), cfg)
}

func newAdmin(db pgmigrate.DB, cfg Config) (*Admin, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	names := cfg.schema().Names()
	base, err1 := pgclaim.NewAdmin(db, names)
	k, err2 := newKeys(names, "", nil)
	return &Admin{base: base, keys: k, log: cfg.Logger}, errors.Join(err1, err2)
}

// Partitions implements admin.Watermarks.
func (a *Admin) Partitions(ctx context.Context, q admin.PartitionsQuery) (all []admin.PartitionState, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	err = a.base.Use(ctx, q.Consumer, func(conn *pgx.Conn, about pgclaim.Asked) error {
		rows, err := pgpin.On{DB: conn}.Query(ctx, a.keys.statements.list, about.Number)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s admin.PartitionState, err error) {
			err = row.Scan(&s.Topic, &s.Source, &s.Partition, &s.Next, &s.Current)
			return s, err
		})
		return err
	})
	if err != nil {
		return nil, wrap(q.Consumer, "list partitions", err)
	}
	return all, nil
}
