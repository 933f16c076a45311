package sqloutbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/outbox"
)

// messageRow has the columns of a message in the order of the statements: shard, id,
// topic, msg_key, type, payload, headers, occurred_at. Texts are bytes, so that no
// connection converts them.
type messageRow struct {
	shard                                  int16
	id, topic, key, kind, payload, headers []byte
	occurred                               any
}

func rowsOf(msgs []outbox.Message) ([]messageRow, error) {
	rows := make([]messageRow, len(msgs))
	for i := range msgs {
		var err error
		if rows[i], err = rowOf(&msgs[i], shardOf(&msgs[i])); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func rowOf(m *outbox.Message, shard int16) (messageRow, error) {
	row := messageRow{
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

func (r *messageRow) args() []any {
	return []any{r.shard, r.id, r.topic, r.key, r.kind, r.payload, r.headers, r.occurred}
}

func (r *messageRow) size() int {
	return len(r.id) + len(r.topic) + len(r.key) + len(r.kind) + len(r.payload) + len(r.headers) + 64
}

func shardOf(m *outbox.Message) int16 {
	if m.Key != "" {
		return keyhash.Shard([]byte(m.Key))
	}
	return keyhash.Shard([]byte(m.ID))
}

// scanner reads the columns of a row.
type scanner func(into ...any) error

// errEnough ends each without an error.
var errEnough = errors.New("enough")

// each calls f with each row of a query, up to its first error.
func each(ctx context.Context, q querier, f func(scan scanner) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := f(rows.Scan); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return rows.Err()
}

// scanRecord reads seq, the columns of a messageRow and created_at, and what follows into
// more.
func scanRecord(scan scanner, r *outbox.Record, more ...any) error {
	var id, topic, key, kind, headers []byte
	var occurred sql.NullInt64
	var created int64
	into := append([]any{&r.Seq, &r.Shard, &id, &topic, &key, &kind, &r.Payload, &headers, &occurred, &created}, more...)
	if err := scan(into...); err != nil {
		return err
	}
	r.ID, r.Topic, r.Key, r.Type, r.CreatedAt = string(id), string(topic), string(key), string(kind), micros(created)
	if occurred.Valid {
		r.OccurredAt = micros(occurred.Int64)
	}
	if len(headers) == 0 {
		return nil
	}
	return json.Unmarshal(headers, &r.Headers)
}

func micros(n int64) time.Time { return time.UnixMicro(n).UTC() }
