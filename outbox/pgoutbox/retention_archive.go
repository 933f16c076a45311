package pgoutbox

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// archivePage is the number of records that an archive reads at once.
const archivePage = 1000

// archive passes the records of a range to the hook, if there is one. It returns a snapshot from
// before: rows that it does not see may be missing in the archive.
func (r *round) archive(ctx context.Context, p admin.Range) (seen *string, err error) {
	if r.cfg.Archive == nil {
		return nil, nil
	}
	snapshot, done := r.archived[p.Table]
	if done {
		return &snapshot, nil // the drop after it found the log busy
	}
	if err := r.ob.pool.QueryRow(ctx, "SELECT pg_current_snapshot()::text WHERE "+pgerr.Primary).Scan(&snapshot); err != nil {
		return nil, err
	}
	if err := r.archiveRows(ctx, p); err != nil {
		return nil, err
	}
	r.archived[p.Table] = snapshot
	return &snapshot, nil
}

// archiveRows calls the hook. An error of a read is an error of the archive, even if the hook has
// ignored it.
func (r *round) archiveRows(ctx context.Context, p admin.Range) error {
	var failed error
	err := r.cfg.Archive(ctx, p, r.records(ctx, p, &failed))
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("leat: archive of %s from %d to %d: %w", p.Table, p.From, p.To, err)
	}
	return nil
}

// records reads a range page by page, each in a separate transaction, so that no snapshot is held
// however long the archive takes.
func (r *round) records(ctx context.Context, p admin.Range, failed *error) iter.Seq2[outbox.Record, error] {
	return func(yield func(outbox.Record, error) bool) {
		last := p.From - 1
		for {
			page, err := r.page(ctx, p, last)
			if err != nil {
				*failed = err
				yield(outbox.Record{}, err)
				return
			}
			for i := range page {
				if !yield(page[i], nil) {
					return
				}
			}
			if len(page) == 0 {
				return
			}
			last = page[len(page)-1].Seq
		}
	}
}

func (r *round) page(ctx context.Context, p admin.Range, last int64) ([]outbox.Record, error) {
	var d decoder
	err := r.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, r.ob.of(p.Table, r.sql.page), last, archivePage, p.To-1)
		if err != nil {
			return err
		}
		defer rows.Close()
		for d.size < maxPageBytes && rows.Next() {
			if len(d.records) == 0 {
				d.binaryForm = isBinary(rows.FieldDescriptions())
			}
			if err := d.row(rows); err != nil {
				return err
			}
		}
		rows.Close()
		return rows.Err()
	})
	return d.records, err
}
