package sqloutbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// heldTx are the records that a group has set aside, in a transaction or on a connection.
type heldTx struct {
	ob    *Outbox
	q     querier
	group string
	now   time.Time // when it began
}

var _ heldqueue.Tx = (*heldTx)(nil)

// Now implements heldqueue.Reader.
func (t *heldTx) Now() time.Time { return t.now }

// lineOf is the hash by which the rows of a key are found.
func lineOf(key driver.Key) int64 {
	return keyhash.Lock("held", key.Topic, key.Key)
}

// condition is a WHERE that grows.
type condition struct {
	text strings.Builder
	args []any
}

func (t *heldTx) where() *condition {
	c := &condition{}
	c.and("grp = ?", []byte(t.group))
	return c
}

func (c *condition) and(text string, args ...any) {
	if c.text.Len() > 0 {
		c.text.WriteString(" AND ")
	}
	c.text.WriteString(text)
	c.args = append(c.args, args...)
}

// in is for lists; an empty one selects nothing.
func (c *condition) in(column string, values []any) {
	if len(values) == 0 {
		c.and("1 = 0")
		return
	}
	c.and(column+" IN ("+places(len(values))+")", values...)
}

// rows calls keep with each row until it has had enough.
func (t *heldTx) rows(ctx context.Context, c *condition, order string, keep func(row *heldqueue.Row) (enough bool)) error {
	return each(ctx, t.q, func(scan scanner) error {
		row, err := scanHeld(scan)
		if err == nil && keep(&row) {
			err = errEnough
		}
		return err
	}, t.ob.sql.with("held_rows", c.text.String()+" ORDER BY "+order), c.args...)
}

// failure is an error of a delivery as the table has it.
type failure struct {
	At    int64  `json:"at"` // µs
	Kind  string `json:"kind"`
	Error string `json:"error"`
	Epoch int64  `json:"epoch"`
}

func scanHeld(scan scanner) (row heldqueue.Row, err error) {
	var id, topic, key, failures, reason []byte
	var next, since int64
	err = scan(&row.Seq, &id, &topic, &key, &row.State, &next, &row.Attempts, &failures, &reason, &since, &row.Bytes)
	if err != nil {
		return row, err
	}
	row.ID, row.Key, row.Reason, row.Since = string(id), driver.Key{Topic: string(topic), Key: string(key)}, string(reason), micros(since)
	if row.State == heldqueue.Retry {
		row.Next = micros(next)
	}
	var all []failure
	err = json.Unmarshal(failures, &all)
	for _, f := range all {
		row.Errors = append(row.Errors, admin.Failure{At: micros(f.At), Kind: f.Kind, Error: f.Error, Epoch: f.Epoch})
	}
	return row, err
}

// line selects the rows of one key.
func (c *condition) line(key driver.Key) {
	c.and("kh = ? AND topic = ? AND msg_key = ?", lineOf(key), []byte(key.Topic), []byte(key.Key))
}

// Heads implements heldqueue.Reader: the rows that do not wait, and the first that waits if
// none of them stands before it.
func (t *heldTx) Heads(ctx context.Context, keys []driver.Key) (heads []heldqueue.Row, err error) {
	for part := range slices.Chunk(keys, maxLines) {
		first := make(map[driver.Key]int64, len(part))
		hashes := make([]any, len(part))
		for i, key := range part {
			hashes[i], first[key] = lineOf(key), math.MaxInt64
		}
		c := t.where()
		c.in("kh", hashes)
		c.in("state", []any{heldqueue.Retry, heldqueue.Parked})
		err := t.rows(ctx, c, "seq", func(row *heldqueue.Row) bool {
			if before, wanted := first[row.Key]; wanted {
				heads, first[row.Key] = append(heads, *row), min(before, row.Seq)
			}
			return false
		})
		if err != nil {
			return nil, err
		}
		waiting, err := t.firstWaiting(ctx, part)
		if err != nil {
			return nil, err
		}
		for i := range waiting {
			if waiting[i].Seq < first[waiting[i].Key] {
				heads = append(heads, waiting[i])
			}
		}
	}
	return heads, nil
}

// maxLines is the number of keys that one statement looks at.
const maxLines = 50

// firstWaiting returns the first row of each key that waits, by a descent of the index each.
func (t *heldTx) firstWaiting(ctx context.Context, keys []driver.Key) (found []heldqueue.Row, err error) {
	var parts []string
	var args []any
	for _, key := range keys {
		c := t.where()
		c.line(key)
		c.and("state = ?", heldqueue.Wait)
		parts = append(parts, "SELECT * FROM ("+t.ob.sql.with("held_rows", c.text.String()+" ORDER BY seq LIMIT 1")+") AS one")
		args = append(args, c.args...)
	}
	err = each(ctx, t.q, func(scan scanner) error {
		row, err := scanHeld(scan)
		found = append(found, row)
		return err
	}, strings.Join(parts, " UNION ALL "), args...)
	return found, err
}

// Behind implements heldqueue.Reader.
func (t *heldTx) Behind(ctx context.Context, rows []heldqueue.Row, limit int) (behind []heldqueue.Row, err error) {
	for i := range rows {
		c := t.where()
		c.line(rows[i].Key)
		c.and("seq > ? AND state <> ?", rows[i].Seq, heldqueue.Dead)
		c.args = append(c.args, limit)
		err := t.rows(ctx, c, "seq LIMIT ?", func(row *heldqueue.Row) bool {
			if row.State != heldqueue.Wait {
				return true
			}
			behind = append(behind, *row)
			return false
		})
		if err != nil {
			return nil, err
		}
	}
	return behind, nil
}

// Due implements heldqueue.Reader.
func (t *heldTx) Due(ctx context.Context, q heldqueue.DueQuery) (due []heldqueue.Row, err error) {
	c := t.where()
	c.and("state = ? AND next_at <= ?", heldqueue.Retry, q.By.UnixMicro())
	err = t.rows(ctx, c, "next_at, seq", func(row *heldqueue.Row) bool {
		if !slices.Contains(q.Except, row.Key.Topic) {
			due = append(due, *row)
		}
		return len(due) == q.Limit
	})
	return due, err
}

// Select implements heldqueue.Reader. What SQL cannot say is looked at here, so that the
// limit is one of rows that match.
func (t *heldTx) Select(ctx context.Context, q heldqueue.Query) (found []heldqueue.Row, err error) {
	if len(q.Seqs) > maxChunkRows {
		for part := range slices.Chunk(q.Seqs, maxChunkRows) {
			one := q
			one.Seqs = part
			rows, err := t.Select(ctx, one)
			if err != nil {
				return nil, err
			}
			found = append(found, rows...)
		}
		return found, nil
	}
	c := t.where()
	c.in("state", anys(q.In))
	if len(q.Seqs) > 0 {
		c.in("seq", anys(q.Seqs))
	}
	if q.ID != "" {
		c.and("id = ?", []byte(q.ID))
	}
	if q.Line.Key != "" {
		c.and("kh = ?", lineOf(q.Line))
	}
	if q.Key != "" {
		c.and("msg_key = ?", []byte(q.Key))
	}
	if q.From > 0 {
		c.and("seq >= ?", q.From)
	}
	if !q.Before.IsZero() {
		c.and("since < ?", q.Before.UnixMicro())
	}
	order := "seq"
	if q.Last {
		order = "seq DESC"
	}
	err = t.rows(ctx, c, order, func(row *heldqueue.Row) bool {
		if q.Matches(row) {
			found = append(found, *row)
		}
		return q.Limit > 0 && len(found) == q.Limit
	})
	return found, err
}

// Count implements heldqueue.Reader.
func (t *heldTx) Count(ctx context.Context, _ heldqueue.Share) (n int, err error) {
	err = t.q.QueryRowContext(ctx, t.ob.sql["held_count"], []byte(t.group), heldqueue.Dead).Scan(&n)
	return n, err
}

func isNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }
