package sqlinbox

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/sqlstore"
)

// sweepPages bounds how many pages of ids one call searches for ids that contain no time: they
// may be anywhere.
const sweepPages = 100

// forget deletes old ids: all that begin with a time below the floor, and of the others those
// that one call reaches.
func (m *Maintenance) forget(ctx context.Context, floor, before time.Time) (total int64, err error) {
	numbers, err := m.numbers(ctx)
	for _, number := range numbers {
		if err != nil {
			break
		}
		var n int64
		n, err = m.forgetOf(ctx, number, floor, before)
		total += n
	}
	return total, err
}

// numbers returns the numbers of all consumers.
func (m *Maintenance) numbers(ctx context.Context) (all []int64, err error) {
	err = m.Query(ctx, func(q sqlstore.Querier) error {
		all, err = sqlstore.Column[int64](ctx, q, m.SQL["consumer_ids"])
		return err
	})
	return all, err
}

func (m *Maintenance) forgetOf(ctx context.Context, number int64, floor, before time.Time) (total int64, err error) {
	lowest := ids.FromMillis(floor.UnixMilli())
	after, pages := make([]byte, len(lowest)), 0
	for {
		timed, untimed, last, err := m.page(ctx, number, after, floor, before)
		if err != nil {
			return total, err
		}
		n, err1 := m.deleteIDs(ctx, number, timed, math.MaxInt64, floor) // new claims of these are refused
		total += n
		n, err2 := m.deleteIDs(ctx, number, untimed, before.UnixMicro(), time.Time{})
		total += n
		if err := errors.Join(err1, err2); err != nil {
			return total, err
		}
		if last == nil { // the end of the table
			m.after[number] = nil
			return total, nil
		}
		after = last
		if bytes.Compare(after, lowest[:]) < 0 {
			continue
		}
		if pages == 0 && bytes.Compare(m.after[number], after) > 0 {
			after = m.after[number]
		}
		if pages++; pages > sweepPages {
			m.after[number] = after
			return total, nil
		}
	}
}

// page returns the old ids of a page, those that contain a time and the others, and the last id
// of the page; nil at the end.
func (m *Maintenance) page(ctx context.Context, number int64, after []byte, floor, before time.Time) (timed, untimed [][]byte, last []byte, err error) {
	err = m.QueryEach(ctx, func(scan sqlstore.Scanner) error {
		var id []byte
		var at int64
		if err := scan(&id, &at); err != nil {
			return err
		}
		last = id
		switch made, tells := ids.Time(ids.UUID(id)); {
		case tells && made.Before(floor):
			timed = append(timed, id)
		case !tells && at < before.UnixMicro():
			untimed = append(untimed, id)
		}
		return nil
	}, m.SQL["forget_page"], number, after)
	return timed, untimed, last, err
}

// deleteIDs deletes listed ids that were processed before a time, and their notes; none if the
// floor is lower by now. It waits for no open delivery.
func (m *Maintenance) deleteIDs(ctx context.Context, number int64, all [][]byte, before int64, floor time.Time) (total int64, err error) {
	for part := range slices.Chunk(all, maxList) {
		var n int64
		err := m.Change(ctx, func(tx *sql.Tx) error {
			var found [][]byte
			err := sqlstore.Each(ctx, tx, func(scan sqlstore.Scanner) error {
				var id []byte
				err := scan(&id)
				found = append(found, id)
				return err
			}, m.SQL.List("forget_old", len(part)), append(append([]any{number}, sqlstore.Anys(part)...), before)...)
			if err != nil || len(found) == 0 {
				return err
			}
			if lower, err := m.lowered(ctx, tx, floor); err != nil || lower {
				return err
			}
			args := append([]any{number}, sqlstore.Anys(found)...)
			n, err = sqlstore.Written(ctx, tx, m.SQL.List("forget_ids", len(found)), args...)
			if err == nil {
				_, err = sqlstore.Written(ctx, tx, m.SQL.List("forget_notes", len(found)), args...)
			}
			return err
		})
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

// lowered reports whether the floor of any bucket has sunk below floor. If the caller holds the
// locks of ids, it sees the floor under which each of them was claimed.
func (m *Maintenance) lowered(ctx context.Context, q sqlstore.Querier, floor time.Time) (bool, error) {
	if floor.IsZero() {
		return false, nil
	}
	var now, millis int64
	err := q.QueryRowContext(ctx, m.SQL["floor_lowest"], m.buckets()).Scan(&now, &millis)
	return millis < floor.UnixMilli(), err
}

// pruneAttempts deletes attempts at messages that were not delivered for a long time.
func (m *Maintenance) pruneAttempts(ctx context.Context, before time.Time) (total int64, err error) {
	numbers, err := m.numbers(ctx)
	for _, number := range numbers {
		if err != nil {
			break
		}
		var n int64
		n, err = m.pruneAttemptsOf(ctx, number, before.UnixMicro())
		total += n
	}
	return total, err
}

func (m *Maintenance) pruneAttemptsOf(ctx context.Context, number, before int64) (total int64, err error) {
	for after := []byte{0}; ; { // before each id
		var last []byte
		var old [][]byte
		err := m.QueryEach(ctx, func(scan sqlstore.Scanner) error {
			var id []byte
			var at int64
			err := scan(&id, &at)
			if last = id; at < before {
				old = append(old, id)
			}
			return err
		}, m.SQL["prune_attempts"], number, after)
		for _, id := range old {
			if err != nil {
				break
			}
			err = m.Change(ctx, func(tx *sql.Tx) error {
				n, err := m.Exec(ctx, tx, "prune_attempt", number, id, before)
				total += n
				return err
			})
		}
		if err != nil || last == nil {
			return total, err
		}
		after = last
	}
}

// pruneAudit deletes entries of the audit.
func (m *Maintenance) pruneAudit(ctx context.Context, before time.Time) (total int64, err error) {
	for {
		var found []int64
		err := m.Query(ctx, func(q sqlstore.Querier) (err error) {
			found, err = sqlstore.Column[int64](ctx, q, m.SQL["prune_audit"], before.UnixMicro())
			return err
		})
		if err != nil || len(found) == 0 {
			return total, err
		}
		err = m.Change(ctx, func(tx *sql.Tx) error {
			n, err := sqlstore.Written(ctx, tx, m.SQL.List("prune_audit_nos", len(found)), sqlstore.Anys(found)...)
			total += n
			return err
		})
		if err != nil {
			return total, err
		}
	}
}
