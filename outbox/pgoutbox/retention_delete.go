package pgoutbox

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/admin"
)

// chunk is a part of a table that is checked for deletion.
type chunk struct {
	first, last, rows, old int64
	snapshot               string
}

// deleteFrom deletes rows that may be deleted from the start of a table, chunk by chunk, and
// rests for as long as it has worked, so that producers and vacuum keep up. It ends at the first
// chunk that has nothing to delete.
func (r *round) deleteFrom(ctx context.Context, table string) error {
	if r.cfg.Retention < 0 {
		return nil
	}
	if trusted, err := r.trusts(ctx); err != nil || !trusted {
		return err
	}
	var at, deleted int64
	for ctx.Err() == nil {
		began := time.Now()
		c, n, err := r.deleteChunk(ctx, table, at)
		if err != nil {
			return errors.Join(err, r.auditLoss(ctx, table, deleted))
		}
		deleted += n
		r.report.Deleted += n
		if n == 0 || c.rows < int64(r.cfg.DeleteChunk) {
			break
		}
		at = c.last
		_ = wait.For(ctx, time.Since(began))
	}
	return r.auditLoss(ctx, table, deleted)
}

// deleteChunk deletes those of the rows above at that may be deleted.
func (r *round) deleteChunk(ctx context.Context, table string, at int64) (c chunk, n int64, err error) {
	exempt := append([]string{}, r.exempt...)
	age, older := r.cfg.Retention.Microseconds(), r.clock.Younger(r.cfg.Retention)
	err = r.read(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, r.ob.of(table, r.sql.chunkLook), at, r.cfg.DeleteChunk, age, exempt, older).
			Scan(&c.first, &c.last, &c.rows, &c.old, &c.snapshot)
	})
	if err != nil || c.old == 0 {
		return c, 0, err
	}
	var seen *string
	if r.cfg.Archive != nil {
		seen = &c.snapshot
		if err := r.archiveRows(ctx, admin.Range{Table: table, From: c.first, To: c.last + 1}); err != nil {
			return c, 0, err
		}
	}
	err = r.change(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, r.ob.of(table, r.sql.chunkDrop), at, r.cfg.DeleteChunk, age, exempt, older, seen, c.last)
		n = tag.RowsAffected()
		return err
	})
	return c, n, err
}

// auditLoss records in the audit that groups past their greatest lag may have lost messages.
func (r *round) auditLoss(ctx context.Context, table string, deleted int64) error {
	if deleted == 0 || len(r.exempt) == 0 {
		return nil
	}
	return r.tx(ctx, func(tx pgx.Tx) error {
		for _, group := range r.exempt {
			if err := r.audit(ctx, tx, "lose_history", "the group is past its max_lag", &group, admin.Range{Table: table}); err != nil {
				return err
			}
		}
		return nil
	})
}

// prune deletes old rows of the audit and of dead records.
func (r *round) prune(ctx context.Context) error {
	trusted, err := r.trusts(ctx)
	if err != nil || !trusted {
		return err
	}
	if r.cfg.KeepAudit > 0 {
		r.report.PrunedAudit, err = r.pruneBy(ctx, r.sql.pruneAudit, r.cfg.KeepAudit)
	}
	if r.cfg.KeepDead > 0 && err == nil {
		r.report.PrunedDead, err = r.pruneBy(ctx, r.sql.pruneDead, r.cfg.KeepDead)
	}
	return err
}

func (r *round) pruneBy(ctx context.Context, sql string, age time.Duration) (total int64, err error) {
	for ctx.Err() == nil {
		began := time.Now()
		tag, err := pgpin.Committed{Pool: r.ob.pool}.Exec(ctx, sql, age.Microseconds(), r.cfg.DeleteChunk)
		total += tag.RowsAffected()
		if err != nil || tag.RowsAffected() < int64(r.cfg.DeleteChunk) {
			return total, err
		}
		_ = wait.For(ctx, time.Since(began))
	}
	return total, ctx.Err()
}
