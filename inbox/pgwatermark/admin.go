package pgwatermark

import (
	"context"
	"errors"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgpin"
)

// operators is the admin.Watermarks that NewAdmin returns.
type operators struct {
	base pgclaim.Admin
	keys keys // without a consumer
	log  *slog.Logger
}

var _ admin.Watermarks = (*operators)(nil)

// NewAdmin returns the operators' interface to the positions of all consumers of the tables that
// cfg names. It registers no consumer. pginbox.NewAdmin covers the rest of these tables as well.
//
// Of cfg only Schema, Table and Logger matter. NewAdmin connects to nothing. Errors wrap
// outbox.ErrInvalidConfig. The caller closes the pool.
func NewAdmin(pool *pgxpool.Pool, cfg Config) (admin.Watermarks, error) {
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
	k, err2 := newKeys(names, "", nil)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return &operators{base: base, keys: k, log: cfg.Logger}, nil
}

// Partitions implements admin.Watermarks.
func (a *operators) Partitions(ctx context.Context, q admin.PartitionsQuery) (all []admin.PartitionState, err error) {
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
