package pgwindow

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

// Look is the result that a claim would have.
type Look struct {
	// Slots is the group's number of slots, 0 if it is not listed.
	Slots int
	// Members is the number of relays that have registered as alive.
	Members int
	// Changing is set while the number of slots is being changed.
	Changing bool
	// Gone is set if a lease is held by a session that is gone.
	Gone bool
	// Held is the error that a claim would return; nil if it may succeed, or complete the change.
	Held *driver.LeaseHeldError
}

// Look looks at the slots of group. It writes nothing.
func (c *Chain) Look(ctx context.Context, db RowsQuerier, group string, former pglease.Former) (l Look, err error) {
	rows, err := db.Query(ctx, c.look, group, former.NamePrefix(), former.Last, append([]int64{}, former.Running...))
	if err != nil {
		return l, err
	}
	var held driver.LeaseHeldError
	var free, live bool
	var row struct {
		changing, live, come, marked, gone bool
		owner                              string
		micros                             int64
	}
	_, err = pgx.ForEachRow(rows, []any{&row.changing, &l.Members, &row.live, &row.come, &row.owner, &row.micros, &row.marked, &row.gone}, func() error {
		l.Slots++
		l.Changing = l.Changing || row.changing
		l.Gone = l.Gone || row.gone
		free = free || !row.live && !row.come
		live = live || row.live
		if remaining := time.Duration(row.micros) * time.Microsecond; row.live && (held.Owner == "" || remaining < held.Remaining) {
			held.Owner, held.Remaining = row.owner, remaining
		}
		if row.marked {
			held.Retry = pglease.Retry
		}
		return nil
	})
	if err == nil && live && !free && !l.Gone {
		l.Held = &held
	}
	return l, err
}
