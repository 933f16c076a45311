package sqllog

import (
	"context"
	"encoding/json"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
)

// MessageRow has the columns of a message in the order of the statements: shard, id,
// topic, msg_key, type, payload, headers, occurred_at. Texts are bytes, so that no
// connection converts them.
type MessageRow struct {
	shard                                  int16
	id, topic, key, kind, payload, headers []byte
	occurred                               any
}

// RowsOf returns messages as rows, with their shards.
func RowsOf(msgs []outbox.Message) ([]MessageRow, error) {
	rows := make([]MessageRow, len(msgs))
	for i := range msgs {
		var err error
		if rows[i], err = RowOf(&msgs[i], shardOf(&msgs[i])); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// RowOf returns a message as a row.
func RowOf(m *outbox.Message, shard int16) (MessageRow, error) {
	row := MessageRow{
		shard: shard, id: []byte(m.ID), topic: []byte(m.Topic), key: []byte(m.Key), kind: []byte(m.Type),
		payload: m.Payload, headers: []byte{},
	}
	if row.payload == nil {
		row.payload = []byte{}
	}
	if !m.OccurredAt.IsZero() {
		row.occurred = m.OccurredAt.UnixMicro()
	}
	var err error
	if len(m.Headers) > 0 {
		row.headers, err = json.Marshal(m.Headers)
	}
	return row, err
}

// Args are the columns as parameters.
func (r *MessageRow) Args() []any {
	return []any{r.shard, r.id, r.topic, r.key, r.kind, r.payload, r.headers, r.occurred}
}

func (r *MessageRow) size() int {
	return len(r.id) + len(r.topic) + len(r.key) + len(r.kind) + len(r.payload) + len(r.headers) + 64
}

func shardOf(m *outbox.Message) int16 {
	if m.Key != "" {
		return keyhash.Shard([]byte(m.Key))
	}
	return keyhash.Shard([]byte(m.ID))
}

// Bounds of one INSERT: max_allowed_packet is 16 MiB on MariaDB, and a statement has
// 65,535 parameters at most (32,766 on SQLite).
const (
	MaxRows  = 500
	MaxBytes = 4 << 20
)

// Fit returns the number of rows that fit into one INSERT, at least one.
func Fit(rows []MessageRow) int {
	n, size := 0, 0
	for n < min(len(rows), MaxRows) && (n == 0 || size+rows[n].size() <= MaxBytes) {
		size += rows[n].size()
		n++
	}
	return n
}

// InsertRows runs an INSERT for each part of rows that fits one. before are the parameters that
// precede each row.
func (l *Log) InsertRows(ctx context.Context, q sqlstore.Querier, name string, rows []MessageRow, before func(i int) []any) error {
	for start := 0; start < len(rows); {
		var args []any
		end := start + Fit(rows[start:])
		for i := start; i < end; i++ {
			args = append(append(args, before(i)...), rows[i].Args()...)
		}
		if _, err := q.ExecContext(ctx, l.SQL.Rows(name, end-start), args...); err != nil {
			return err
		}
		start = end
	}
	return nil
}
