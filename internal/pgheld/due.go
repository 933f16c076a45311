package pgheld

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// maxBytes is where a page of due records ends although there are more.
const maxBytes = 32 << 20

// Share is a slot's part of a group: shards that are its number modulo slots.
type Share struct {
	Slots, Slot int16
}

// Held is a record that is due.
type Held struct {
	Row

	Attempts int
}

// Due returns records that are to be tried now, ascending, at most limit and about
// 32 MiB of payload, none of the topics in except. Each record to be retried comes
// with the first of those that wait behind it.
func (s *Statements) Due(ctx context.Context, conn *pgx.Conn, group string, share Share, limit int, except []string) ([]Held, error) {
	if except == nil {
		except = []string{}
	}
	rows, err := conn.Query(ctx, s.due, group, limit, except, share.Slots, share.Slot)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var due []Held
	size := 0
	for size < maxBytes && rows.Next() {
		var h Held
		if err := rows.Scan(append(h.scans(), &h.Attempts)...); err != nil {
			return nil, err
		}
		size += len(h.Payload)
		due = append(due, h)
	}
	rows.Close() // reads past what was not taken
	return due, rows.Err()
}

// Keys returns the keys of which a record is held.
func (s *Statements) Keys(ctx context.Context, conn *pgx.Conn, group string, share Share) ([]Key, error) {
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
