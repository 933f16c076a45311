package sqllog

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// HeldTx are the records that a group has set aside, in a transaction or on a connection.
type HeldTx struct {
	log   *Log
	q     sqlstore.Querier
	group string
	now   time.Time // time when it began
}

var _ heldqueue.Tx = (*HeldTx)(nil)

// Held returns the records that a group has set aside, at a time of the database.
func (l *Log) Held(q sqlstore.Querier, group string, now time.Time) *HeldTx {
	return &HeldTx{log: l, q: q, group: group, now: now}
}

// Now implements heldqueue.Reader.
func (t *HeldTx) Now() time.Time { return t.now }

// lineOf is the hash by which the rows of a key are found.
func lineOf(key driver.Key) int64 {
	return keyhash.Lock("held", key.Topic, key.Key)
}

func (t *HeldTx) where() *sqlstore.Condition {
	c := &sqlstore.Condition{}
	c.And("relay_group = ?", []byte(t.group))
	return c
}

// allRows is appended to statements that must return all rows. Otherwise sql_select_limit of the
// session could cut the result off, and a part would be taken for all.
const allRows = " LIMIT 9223372036854775807"

// rows calls keep with each row until keep returns true.
func (t *HeldTx) rows(ctx context.Context, c *sqlstore.Condition, order string, keep func(row *heldqueue.Row) (enough bool)) error {
	return sqlstore.Each(ctx, t.q, func(scan sqlstore.Scanner) error {
		row, err := scanHeld(scan)
		if err == nil && keep(&row) {
			err = sqlstore.ErrEnough
		}
		return err
	}, t.log.SQL.With("held_rows", c.String()+" ORDER BY "+order), c.Args...)
}

// failure is an error of a delivery as the table has it.
type failure struct {
	At    int64  `json:"at"` // µs
	Kind  string `json:"kind"`
	Error string `json:"error"`
	Epoch int64  `json:"epoch"`
}

func scanHeld(scan sqlstore.Scanner) (row heldqueue.Row, err error) {
	var id, topic, key, failures, reason []byte
	var next, since int64
	err = scan(&row.Seq, &id, &topic, &key, &row.State, &next, &row.Attempts, &failures, &reason, &since, &row.Bytes)
	if err != nil {
		return row, err
	}
	row.ID, row.Key, row.Reason, row.Since = string(id), driver.Key{Topic: string(topic), Key: string(key)}, string(reason), sqlstore.Time(since)
	if row.State == heldqueue.Retry {
		row.Next = sqlstore.Time(next)
	}
	var all []failure
	err = json.Unmarshal(failures, &all)
	for _, f := range all {
		row.Errors = append(row.Errors, admin.Failure{At: sqlstore.Time(f.At), Kind: f.Kind, Error: f.Error, Epoch: f.Epoch})
	}
	return row, err
}

// inLine selects the rows of one key.
func inLine(c *sqlstore.Condition, key driver.Key) {
	c.And("key_hash = ? AND topic = ? AND msg_key = ?", lineOf(key), []byte(key.Topic), []byte(key.Key))
}

// Heads implements heldqueue.Reader: the rows that do not wait, and the first waiting row if none
// of them comes before it.
func (t *HeldTx) Heads(ctx context.Context, keys []driver.Key) (heads []heldqueue.Row, err error) {
	for part := range slices.Chunk(keys, maxLines) {
		first := make(map[driver.Key]int64, len(part))
		hashes := make([]any, len(part))
		for i, key := range part {
			hashes[i], first[key] = lineOf(key), math.MaxInt64
		}
		c := t.where()
		c.In("key_hash", hashes)
		c.In("state", []any{heldqueue.Retry, heldqueue.Parked})
		err := t.rows(ctx, c, "seq"+allRows, func(row *heldqueue.Row) bool {
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

// maxLines is the number of keys in one statement.
const maxLines = 50

// firstWaiting returns the first waiting row of each key, by one index lookup per key.
func (t *HeldTx) firstWaiting(ctx context.Context, keys []driver.Key) (found []heldqueue.Row, err error) {
	var parts []string
	var args []any
	for _, key := range keys {
		c := t.where()
		inLine(c, key)
		c.And("state = ?", heldqueue.Wait)
		parts = append(parts, "SELECT * FROM ("+t.log.SQL.With("held_rows", c.String()+" ORDER BY seq LIMIT 1")+") AS one")
		args = append(args, c.Args...)
	}
	err = sqlstore.Each(ctx, t.q, func(scan sqlstore.Scanner) error {
		row, err := scanHeld(scan)
		found = append(found, row)
		return err
	}, strings.Join(parts, " UNION ALL ")+allRows, args...)
	return found, err
}

// Behind implements heldqueue.Reader.
func (t *HeldTx) Behind(ctx context.Context, rows []heldqueue.Row, limit int) (behind []heldqueue.Row, err error) {
	for i := range rows {
		c := t.where()
		inLine(c, rows[i].Key)
		c.And("seq > ? AND state <> ?", rows[i].Seq, heldqueue.Dead)
		c.Args = append(c.Args, limit)
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
func (t *HeldTx) Due(ctx context.Context, q heldqueue.DueQuery) (due []heldqueue.Row, err error) {
	c := t.where()
	c.And("state = ? AND next_at <= ?", heldqueue.Retry, q.By.UnixMicro())
	if len(q.Except) > 0 {
		topics := make([][]byte, len(q.Except))
		for i, topic := range q.Except {
			topics[i] = []byte(topic)
		}
		c.And("topic NOT IN ("+sqldialect.Places(len(topics))+")", sqlstore.Anys(topics)...)
	}
	c.Args = append(c.Args, q.Limit)
	err = t.rows(ctx, c, "next_at, seq LIMIT ?", func(row *heldqueue.Row) bool {
		due = append(due, *row)
		return false
	})
	return due, err
}

// Select implements heldqueue.Reader. Conditions that SQL cannot express are checked here, so
// that the limit counts rows that match.
func (t *HeldTx) Select(ctx context.Context, q heldqueue.Query) (found []heldqueue.Row, err error) {
	if len(q.Seqs) > MaxRows {
		for part := range slices.Chunk(q.Seqs, MaxRows) {
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
	c.In("state", sqlstore.Anys(q.In))
	if len(q.Seqs) > 0 {
		c.In("seq", sqlstore.Anys(q.Seqs))
	}
	if q.ID != "" {
		c.And("id = ?", []byte(q.ID))
	}
	if q.Line.Key != "" {
		c.And("key_hash = ?", lineOf(q.Line))
	}
	if q.Key != "" {
		c.And("msg_key = ?", []byte(q.Key))
	}
	if q.From > 0 {
		c.And("seq >= ?", q.From)
	}
	if !q.Before.IsZero() {
		c.And("since < ?", q.Before.UnixMicro())
	}
	order := "seq"
	if q.Last {
		order = "seq DESC"
	}
	limit := allRows
	if isAll := q.Topics == "" && q.Kind == "" && q.Fingerprint == "" && q.Line.Key == ""; isAll && q.Limit > 0 {
		limit, c.Args = " LIMIT ?", append(c.Args, q.Limit) // otherwise the driver reads all remaining rows
	}
	err = t.rows(ctx, c, order+limit, func(row *heldqueue.Row) bool {
		if q.Matches(row) {
			found = append(found, *row)
		}
		return q.Limit > 0 && len(found) == q.Limit
	})
	return found, err
}

// Count implements heldqueue.Reader.
func (t *HeldTx) Count(ctx context.Context, _ heldqueue.Share) (n int, err error) {
	err = t.q.QueryRowContext(ctx, t.log.SQL["held_count"], []byte(t.group), heldqueue.Dead).Scan(&n)
	return n, err
}
