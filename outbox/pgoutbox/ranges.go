package pgoutbox

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/admin"
)

// Ranges implements admin.RangeLister.
func (o operator) Ranges(ctx context.Context) ([]admin.Range, error) {
	parts, err := partsOf(ctx, o.pool, o.sql.ranges)
	if err != nil {
		return nil, describe(err)
	}
	states := make([]admin.Range, len(parts))
	batch := &pgx.Batch{}
	batch.Queue(withoutJIT)
	for i, p := range parts {
		states[i] = p.Range
		// It reads the range through the log, since a range that was added later may lack grants.
		part := fmt.Sprintf("(SELECT * FROM %s WHERE seq >= %d AND seq < %d)", o.table, p.From, p.To)
		batch.Queue(strings.ReplaceAll(o.sql.pins, "{range}", part)).Query(func(rows pgx.Rows) error {
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
