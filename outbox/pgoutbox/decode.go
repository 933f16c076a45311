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

// query reads one page of records.
func (n *session) query(ctx context.Context, limit int, sql string, args ...any) ([]outbox.Record, error) {
	rows, err := n.reader.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	d := decoder{records: make([]outbox.Record, 0, min(limit, n.expect))}
	for rows.Next() {
		if err := d.row(rows); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	n.expect = max(2*len(d.records), 64)
	return d.records, nil
}

// decoder turns rows into records.
type decoder struct {
	records []outbox.Record
	slab    []byte // payloads are cut from it
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
		if err := json.Unmarshal(headers, &r.Headers); err != nil {
			return fmt.Errorf("leat: headers of record %d: %w", r.Seq, err)
		}
	}
	d.records = append(d.records, r)
	return nil
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
