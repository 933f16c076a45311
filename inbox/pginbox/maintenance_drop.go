package pginbox

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"
)

// forget drops the ranges that are below the floor. A plain DROP would wait for every open
// handler, and all claims would wait behind it. So a range is first detached, by a statement that
// waits for handlers but does not block claims.
func (r *maintenanceRound) forget(ctx context.Context) error {
	if r.state.mode != modeRanges {
		return nil
	}
	// The ranges are read first, then the floor: if it was lowered in between, it keeps them, and
	// if it is lowered later, they get other names.
	all, err1 := r.parts(ctx, r.pool)
	now, err2 := r.load(ctx, r.pool)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	var errs []error
	for _, p := range all {
		if !p.to.Valid || below(now.floor, p.to) {
			continue
		}
		if err := r.keep(ctx); err != nil {
			return err
		}
		if err := r.drop(ctx, p); err != nil {
			errs = append(errs, err)
			break // only one can be partly detached
		}
		r.report.Dropped = append(r.report.Dropped, p.table)
		r.log.InfoContext(ctx, "inbox range dropped", rangeAttr(p.rng()))
	}
	return errors.Join(append(errs, r.dropOrphans(ctx))...)
}

// drop detaches one range, or finishes a cancelled detach, and drops it.
func (r *maintenanceRound) drop(ctx context.Context, p rangePart) error {
	how := " CONCURRENTLY"
	if p.pending {
		how = " FINALIZE"
	}
	err := r.outside(ctx, r.cfg.DetachTimeout,
		"ALTER TABLE "+r.names.Qualified("_ranges")+" DETACH PARTITION "+r.qualified(p.table)+how)
	if err != nil {
		return err
	}
	return r.dropTable(ctx, p.table)
}

func (r *maintenanceRound) dropTable(ctx context.Context, table string) error {
	return r.change(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "DROP TABLE IF EXISTS "+r.qualified(table))
		return err
	})
}

// dropOrphans drops ranges that were detached by a process that died before it could drop them.
func (r *maintenanceRound) dropOrphans(ctx context.Context) error {
	prefix := r.names.Table + "_r"
	rows, err := r.pool.Query(ctx, r.statements.orphans, prefix, r.names.Schema)
	if err != nil {
		return err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, table := range tables {
		if strings.Compare(table, r.tableAt(r.state.floor, 0)) >= 0 {
			continue // not a forgotten range
		}
		if err := r.dropTable(ctx, table); err != nil {
			return err
		}
		r.log.InfoContext(ctx, "detached inbox range dropped", slog.String("table", table))
	}
	return nil
}
