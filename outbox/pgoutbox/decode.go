package pgoutbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
)

// maxPageBytes is where a page ends although there are more records: memory is
// bounded even where small records are followed by large ones.
const maxPageBytes = 32 << 20

// query reads one page of records. It is full where there may be more of them:
// at limit, or at maxPageBytes.
func (n *session) query(ctx context.Context, limit int, sql string, args ...any) (page []outbox.Record, full bool, err error) {
	rows, err := n.reader.Query(ctx, sql, args...)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	d := decoder{records: make([]outbox.Record, 0, min(limit, n.expect))}
	for d.size < maxPageBytes && rows.Next() {
		if err := d.row(rows); err != nil {
			return nil, false, err
		}
	}
	rows.Close() // reads past what was not taken
	if err := rows.Err(); err != nil {
		return nil, false, err
	}
	n.expect = max(2*len(d.records), 64)
	return d.records, len(d.records) == limit || d.size >= maxPageBytes, nil
}

// decoder turns rows into records.
type decoder struct {
	records []outbox.Record
	slab    []byte // payloads are cut from it
	size    int    // bytes of what was kept
	topic   string // the last one: most rows share it
}

func (d *decoder) row(rows pgx.Rows) error {
	var r outbox.Record
	var id [16]byte
	var idText, key, typ pgtype.Text
	var occurred pgtype.Timestamptz
	var topic, payload, headers pgtype.DriverBytes
	err := rows.Scan(&r.Seq, &r.CreatedAt, &occurred, &id, &r.Shard, &idText, &topic, &key, &typ, &payload, &headers)
	if err != nil {
		return fmt.Errorf("leat: reading the outbox: %w", err)
	}
	r.ID = idText.String
	if !idText.Valid {
		r.ID = ids.Text(id)
	}
	if string(topic) != d.topic {
		d.topic = string(topic)
	}
	r.Topic, r.Key, r.Type = d.topic, key.String, typ.String
	r.Payload = d.keep(payload)
	if occurred.Valid {
		r.OccurredAt = occurred.Time.In(time.UTC)
	}
	r.CreatedAt = r.CreatedAt.In(time.UTC)
	if headers != nil {
		r.Headers = decodeHeaders(headers)
	}
	d.size += len(r.Payload) + len(r.Key) + len(headers)
	d.records = append(d.records, r)
	return nil
}

// decodeHeaders reads what Enqueue wrote. A row that was inserted by hand may hold
// other values than texts: those become their JSON, since a relay that stopped at
// them would stop for good.
func decodeHeaders(raw []byte) map[string]string {
	var texts map[string]string
	if json.Unmarshal(raw, &texts) == nil {
		return texts
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		return map[string]string{"headers": string(raw)} // no object at all
	}
	headers := make(map[string]string, len(values))
	for name, value := range values {
		text := string(value)
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		headers[name] = text
	}
	return headers
}

// keep copies b, which is valid until the next row only, into a slab.
func (d *decoder) keep(b []byte) []byte {
	const slabBytes = 256 << 10
	if len(b) > slabBytes/4 {
		return append(make([]byte, 0, len(b)), b...)
	}
	if cap(d.slab)-len(d.slab) < len(b) {
		d.slab = make([]byte, 0, slabBytes)
	}
	at := len(d.slab)
	d.slab = append(d.slab, b...)
	return d.slab[at:len(d.slab):len(d.slab)]
}
