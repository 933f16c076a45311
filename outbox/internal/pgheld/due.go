package pgheld

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/driver"
)

// maxBytes is the size at which a page of due records ends although there are more. It is based
// on what one call of a sink can deliver in its time, like a page of the log, and not on memory:
// a page that is too large would fail for ever.
const maxBytes = 4 << 20

// Share is a slot's part of a group: the shards that equal its number modulo slots.
type Share struct {
	Slots, Slot int16
}

// Due returns records to try now, ascending, at most limit, none of the topics in except. Each
// record in state retry comes with the first of those that wait behind it. The page ends with the
// record that fills 4 MiB of payloads, keys and headers: at least one is returned if any is due,
// and no more is fetched than that.
func (s *Statements) Due(ctx context.Context, conn *pgx.Conn, group string, share Share, limit int, except []string) ([]driver.Held, error) {
	if except == nil {
		except = []string{}
	}
	rows, err := conn.Query(ctx, s.due, group, limit, except, share.Slots, share.Slot, maxBytes)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(found pgx.CollectableRow) (driver.Held, error) {
		var r row
		var attempts int
		err := found.Scan(append(r.scans(), &attempts)...)
		return driver.Held{Record: r.record(), Attempts: attempts}, err
	})
}

// Hasten makes records due whose retry is more than within away.
func (s *Statements) Hasten(ctx context.Context, conn *pgx.Conn, group string, share Share, within time.Duration) error {
	_, err := conn.Exec(ctx, s.hasten, group, within.Microseconds(), share.Slots, share.Slot)
	return err
}

// Keys returns the keys that have a held record.
func (s *Statements) Keys(ctx context.Context, conn *pgx.Conn, group string, share Share) ([]driver.Key, error) {
	rows, err := conn.Query(ctx, s.keys, group, share.Slots, share.Slot)
	if err != nil {
		return nil, err
	}
	return collectKeys(rows)
}

// Count returns how many records are held.
func (s *Statements) Count(ctx context.Context, conn *pgx.Conn, group string, share Share) (n int, err error) {
	err = conn.QueryRow(ctx, s.count, group, share.Slots, share.Slot).Scan(&n)
	return n, err
}
