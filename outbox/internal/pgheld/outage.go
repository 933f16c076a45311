package pgheld

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

// outage is driver.Outage as keep_out.sql reads it.
type outage struct {
	Topic string    `json:"topic"`
	Since time.Time `json:"since"`
	Cause string    `json:"cause"`
	Error string    `json:"error"`
}

// KeepOutages stores the outages that the holder of l sees.
func (s *Statements) KeepOutages(ctx context.Context, conn *pgx.Conn, l pglease.Lease, all []driver.Outage) error {
	rows := make([]outage, len(all))
	for i, o := range all {
		rows[i] = outage{o.Topic, o.Since, o.Cause, o.Error}
	}
	raw, err := json.Marshal(rows)
	if err == nil {
		_, err = conn.Exec(ctx, s.keepOut, l.Slot.Group, l.Slot.No, l.Epoch, string(raw))
	}
	return err
}

// QueueOutages adds the outages to groups, which b reads first.
func (s *Statements) QueueOutages(b *pgx.Batch, groups *[]admin.GroupStats) {
	b.Queue(s.listOut).Query(func(rows pgx.Rows) error {
		var group string
		var out driver.Outage
		_, err := pgx.ForEachRow(rows, []any{&group, &out.Topic, &out.Since, &out.Cause, &out.Error, &out.Waiting}, func() error {
			if i := slices.IndexFunc(*groups, func(g admin.GroupStats) bool { return g.Name == group }); i >= 0 {
				(*groups)[i].Out = append((*groups)[i].Out, out)
			}
			return nil
		})
		return err
	})
}
