package pgoutbox

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/admin"
)

// Ranges implements admin.RangeLister.
func (o *Outbox) Ranges(ctx context.Context) ([]admin.RangeState, error) {
	parts, err := partsOf(ctx, o.pool, o.sql.ranges)
	if err != nil {
		return nil, describe(err)
	}
	states := make([]admin.RangeState, len(parts))
	batch := &pgx.Batch{}
	batch.Queue(withoutJIT)
	for i, p := range parts {
		states[i].Range = p.Range
		batch.Queue(o.of(p.Table, o.sql.pins)).Query(func(rows pgx.Rows) error {
			var group string
			var behind bool
			_, err := pgx.ForEachRow(rows, []any{&group, &behind}, func() error {
				if behind {
					states[i].PinnedBy = append(states[i].PinnedBy, group)
				}
				return nil
			})
			slices.Sort(states[i].PinnedBy)
			return err
		})
	}
	err = o.pool.SendBatch(ctx, batch).Close()
	return states, describe(err)
}
