package pgoutbox

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
)

// scan decodes a row in whatever format the connection uses: in some of pgx's query modes values
// are sent as text.
func (d *decoder) scan(rows pgx.Rows) error {
	var r outbox.Record
	var id [16]byte
	var idText, key, typ pgtype.Text
	var created, occurred pgtype.Timestamptz
	var topic, payload, headers pgtype.DriverBytes
	err := rows.Scan(&r.Seq, &created, &occurred, &id, &r.Shard, &idText, &topic, &key, &typ, &payload, &headers)
	if err != nil {
		return fmt.Errorf("leat: reading the outbox: %w", err)
	}
	r.ID = idText.String
	if !idText.Valid {
		r.ID = ids.Text(id)
	}
	r.Topic, r.Key, r.Type = d.name(&d.topic, topic), key.String, typ.String
	if payload == nil {
		d.absent = append(d.absent, len(d.records))
	} else {
		r.Payload = d.keep(payload)
	}
	if occurred.Valid {
		r.OccurredAt = timeOrEnd(occurred)
	}
	r.CreatedAt = timeOrEnd(created)
	if headers != nil {
		r.Headers = decodeHeaders(headers)
	}
	d.size += len(r.Payload) + len(r.Key) + len(headers)
	d.records = append(d.records, r)
	return nil
}

// timeOrEnd returns the time of t, as timeOf does for the binary format.
func timeOrEnd(t pgtype.Timestamptz) time.Time {
	switch t.InfinityModifier {
	case pgtype.Infinity:
		return calendarEnd()
	case pgtype.NegativeInfinity:
		return calendarBegin()
	default:
		return inCalendar(t.Time.In(time.UTC))
	}
}
