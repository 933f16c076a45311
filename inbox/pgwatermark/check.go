package pgwatermark

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
)

// Check verifies that the messages at acked, one per partition, are still remembered as
// processed: a failover that lost commits, or SetWatermark of admin.Watermarks, may have moved
// watermarks back. It reads one small table, writes nothing and waits for no lock. It returns a
// driver.GapError for the first message that is not remembered, driver.ErrNotAssigned if a
// partition is not remembered, or the database's error. Use it as kafkasource.Config.Check.
func (in *Inbox) Check(ctx context.Context, acked []driver.Position) error {
	err := in.db.Use(ctx, func(conn *pgx.Conn) error {
		for _, p := range acked {
			source, err := in.sourceOf(p.Topic, p.Source, p.Partition)
			if err != nil {
				return err
			}
			var next *int64
			var current *string
			err = conn.QueryRow(ctx, in.statements.check, in.consumer.Name, source, p.Partition, p.Topic).Scan(&next, &current)
			if err != nil {
				return pgclaim.Explain(err)
			}
			if next != nil && *next > p.Offset {
				continue
			}
			at := place{Position: p, source: source}
			at.Prev = p.Offset // a watermark that has not passed it gives a gap
			at.Offset++
			if _, err := at.verdict(next, current); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return in.wrap("check", err)
	}
	return nil
}
