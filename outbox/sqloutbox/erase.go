package sqloutbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/leat-go/leat/internal/erase"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

var _ driver.Eraser = operator{}

const (
	// eraseSpan is how many numbers of the log one statement reads.
	eraseSpan = 1_000_000
)

// erasable is a row to delete: of the log, delayed (Seq is its number there), or held.
type erasable struct {
	seq       int64
	id, topic string
	group     string
	state     heldqueue.State
}

// Erase implements driver.Eraser. It searches in the direction in which messages move: first the
// delayed ones, then the log, then the held ones.
func (o operator) Erase(ctx context.Context, r driver.EraseRequest) (found driver.Erased, err error) {
	if err := erase.Check(&r); err != nil {
		return found, err
	}
	delayed, err1 := o.findErasable(ctx, &r, "erase_delayed_find")
	log, err2 := o.findLog(ctx, &r)
	held, err3 := o.findErasable(ctx, &r, "erase_held_find")
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return found, o.log.Describe(err)
		}
	}
	for place, rows := range map[string][]erasable{erase.Delayed: delayed, erase.Log: log, erase.Held: held} {
		for _, row := range rows {
			if row.state == heldqueue.Dead {
				erase.Add(&found, erase.Dead, row.id, row.topic)
			} else {
				erase.Add(&found, place, row.id, row.topic)
			}
		}
	}
	all := erase.With(r, found.IDs)
	audited, err := o.findAudited(ctx, &all)
	erase.Count(&found, erase.Audit, len(audited))
	if err != nil || r.DryRun {
		return found, o.log.Describe(err)
	}
	defer o.bell.ring()
	return found, o.log.Describe(o.eraseFound(ctx, &all, delayed, log, audited))
}

// eraseFound deletes what was found. The audit comes first, since after an interruption the ids
// can no longer be found by a header, and once more at the end, for entries added in the
// meantime.
func (o operator) eraseFound(ctx context.Context, r *driver.EraseRequest, delayed, log []erasable, audited []int64) error {
	if err := o.eraseAudited(ctx, audited); err != nil {
		return err
	}
	by := admin.By{Actor: r.Actor, Reason: r.Reason}
	err := o.eraseRows(ctx, delayed, erase.Delayed, by, func(tx *sql.Tx, row erasable) (sql.Result, error) {
		return tx.ExecContext(ctx, o.log.SQL["delayed_delete"], row.seq)
	})
	if err != nil {
		return err
	}
	none := []byte{}
	err = o.eraseRows(ctx, log, erase.Log, by, func(tx *sql.Tx, row erasable) (sql.Result, error) {
		return tx.ExecContext(ctx, o.log.SQL["erase_log"], none, none, none, none, none, none, row.seq, []byte(row.id))
	})
	if err != nil {
		return err
	}
	held, err := o.findErasable(ctx, r, "erase_held_find") // relays may have set more aside
	if err != nil {
		return err
	}
	for len(held) > 0 {
		group, n := held[0].group, 0
		var seqs []int64
		for n < len(held) && held[n].group == group && n < sqllog.MaxRows {
			seqs = append(seqs, held[n].seq)
			n++
		}
		if err := o.Operators.Erase(ctx, group, seqs, by); err != nil {
			return err
		}
		held = held[n:]
	}
	if audited, err = o.findAudited(ctx, r); err != nil {
		return err
	}
	return o.eraseAudited(ctx, audited)
}

// eraseRows deletes rows, with a note of each that still exists. Delayed messages do not move
// into the log in the meantime.
func (o operator) eraseRows(ctx context.Context, rows []erasable, place string, by admin.By, remove func(tx *sql.Tx, row erasable) (sql.Result, error)) error {
	for part := range slices.Chunk(rows, sqllog.MaxRows) {
		err := o.log.Change(ctx, func(tx *sql.Tx) error {
			if place == erase.Delayed && !o.log.Dialect.OneWriter {
				if err := o.lockBuckets(ctx, tx, []int64{promoterLock}); err != nil {
					return err
				}
			}
			for _, row := range part {
				result, err := remove(tx, row)
				if err != nil {
					return err
				}
				n, err := result.RowsAffected()
				if err != nil {
					return err
				}
				if n == 0 { // it has moved in the meantime
					continue
				}
				note := heldqueue.EraseNote(place, row.seq, row.id, row.topic, by)
				if place == erase.Delayed {
					note.Seq = 0
				}
				if err := o.log.Note(ctx, tx, &note); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mayMatch is the condition of rows that may match r: r itself decides which do.
func mayMatch(r *driver.EraseRequest) *sqlstore.Condition {
	c := &sqlstore.Condition{}
	if r.Header != "" || len(r.IDs) > sqllog.MaxRows {
		c.And("1 = 1")
		return c
	}
	text, args := "1 = 0", []any{}
	if r.Key != "" {
		text, args = text+" OR msg_key = ?", append(args, []byte(r.Key))
	}
	for _, id := range r.IDs {
		text, args = text+" OR id = ?", append(args, []byte(id))
	}
	c.And("("+text+")", args...)
	return c
}

func (o operator) findLog(ctx context.Context, r *driver.EraseRequest) (all []erasable, err error) {
	var first, last int64
	err = o.log.Look(ctx, func(q sqlstore.Querier) error {
		return q.QueryRowContext(ctx, o.log.SQL["erase_bounds"]).Scan(&first, &last)
	})
	for from := first; err == nil && last > 0 && from <= last; from += eraseSpan {
		var rows []erasable
		rows, err = o.findErasable(ctx, r, "erase_log_find", from, min(from+eraseSpan-1, last))
		all = append(all, rows...)
		erase.Walked(r, min(from+eraseSpan, last+1)-first, last+1-first)
	}
	return all, err
}

// findErasable returns the rows that a statement finds and r selects.
func (o operator) findErasable(ctx context.Context, r *driver.EraseRequest, statement string, args ...any) (all []erasable, err error) {
	c := mayMatch(r)
	err = o.log.Look(ctx, func(q sqlstore.Querier) error {
		all = all[:0]
		return sqlstore.Each(ctx, q, func(scan sqlstore.Scanner) error {
			var row erasable
			var id, topic, key, headers, group []byte
			into := []any{&row.seq, &id, &topic, &key, &headers}
			if statement == "erase_held_find" {
				into = append(into, &group, &row.state)
			}
			if err := scan(into...); err != nil {
				return err
			}
			row.id, row.topic, row.group = string(id), string(topic), string(group)
			if erase.Matches(r, row.id, row.topic, string(key), func() map[string]string { return headersOf(headers) }) {
				all = append(all, row)
			}
			return nil
		}, o.log.SQL.With(statement, c.String()), append(args, c.Args...)...)
	})
	return all, err
}

// headersOf returns headers as they are stored; none if they are not JSON, which is possible if
// producers use SQL.
func headersOf(stored []byte) (headers map[string]string) {
	if len(stored) > 0 && json.Unmarshal(stored, &headers) != nil {
		return nil
	}
	return headers
}

// findAudited returns the entries about what r selects that contain more than who did what to
// which id.
func (o operator) findAudited(ctx context.Context, r *driver.EraseRequest) (all []int64, err error) {
	c := mayMatch(r)
	err = o.log.Look(ctx, func(q sqlstore.Querier) error {
		all = all[:0]
		return sqlstore.Each(ctx, q, func(scan sqlstore.Scanner) error {
			var no int64
			var id, topic, key, details, reason []byte
			err := scan(&no, &id, &topic, &key, &details, &reason)
			more := len(key) > 0 || len(details) > 0 || string(reason) != erase.Reason
			if err == nil && more && erase.Matches(r, string(id), string(topic), string(key), nil) {
				all = append(all, no)
			}
			return err
		}, o.log.SQL.With("erase_audit_find", c.String()), append([]any{[]byte("erase")}, c.Args...)...)
	})
	return all, err
}

func (o operator) eraseAudited(ctx context.Context, audited []int64) error {
	none := []byte{}
	for part := range slices.Chunk(audited, sqllog.MaxRows) {
		err := o.log.Change(ctx, func(tx *sql.Tx) error {
			for _, no := range part {
				if _, err := tx.ExecContext(ctx, o.log.SQL["erase_audit"], none, none, []byte(erase.Reason), no); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
