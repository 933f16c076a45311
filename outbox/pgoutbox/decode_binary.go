package pgoutbox

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/outbox"
)

// The columns of page.sql and page_early.sql.
const (
	colSeq = iota
	colCreatedAt
	colOccurredAt
	colID
	colShard
	colIDText
	colTopic
	colKey
	colType
	colPayload
	colHeaders
)

var errRowForm = errors.New("leat: reading the outbox: a value has the wrong length")

// isBinary reports whether rows of fields can be decoded by binary.
func isBinary(fields []pgconn.FieldDescription) bool {
	want := [...]uint32{
		colSeq: pgtype.Int8OID, colCreatedAt: pgtype.TimestamptzOID, colOccurredAt: pgtype.TimestamptzOID,
		colID: pgtype.UUIDOID, colShard: pgtype.Int2OID, colIDText: pgtype.TextOID, colTopic: pgtype.TextOID,
		colKey: pgtype.TextOID, colType: pgtype.TextOID, colPayload: pgtype.ByteaOID, colHeaders: pgtype.JSONBOID,
	}
	return slices.EqualFunc(fields, want[:], func(f pgconn.FieldDescription, oid uint32) bool {
		// pgx requests these as text; a text is the same in both formats.
		text := oid == pgtype.TextOID || oid == pgtype.JSONBOID
		return f.DataTypeOID == oid && (f.Format == pgx.BinaryFormatCode) != text
	})
}

// binary decodes a row from PostgreSQL's binary formats. A scan into eleven variables allocates
// most of them, and took half of a relay's time per record.
func (d *decoder) binary(v [][]byte) error {
	if len(v[colSeq]) != 8 || len(v[colCreatedAt]) != 8 || len(v[colID]) != 16 || len(v[colShard]) != 2 ||
		(v[colOccurredAt] != nil && len(v[colOccurredAt]) != 8) {
		return errRowForm
	}
	d.records = append(d.records, outbox.Record{})
	r := &d.records[len(d.records)-1]
	r.Seq = int64(binary.BigEndian.Uint64(v[colSeq])) //nolint:gosec // the same bits
	r.CreatedAt = timeOf(v[colCreatedAt])
	r.Shard = int16(binary.BigEndian.Uint16(v[colShard])) //nolint:gosec // the same bits
	if v[colOccurredAt] != nil {
		r.OccurredAt = timeOf(v[colOccurredAt])
	}
	if v[colIDText] != nil {
		r.ID = d.text(v[colIDText])
	} else {
		r.ID = d.uuid(v[colID])
	}
	r.Topic, r.Type = d.name(&d.topic, v[colTopic]), d.name(&d.typ, v[colType])
	r.Key = d.text(v[colKey])
	if v[colPayload] == nil {
		d.absent = append(d.absent, len(d.records)-1)
	} else {
		r.Payload = d.keep(v[colPayload])
	}
	if headers := v[colHeaders]; headers != nil {
		r.Headers = decodeHeaders(headers)
	}
	d.size += len(r.Payload) + len(r.Key) + len(v[colHeaders])
	return nil
}

// timeOf reads microseconds since the year 2000.
func timeOf(b []byte) time.Time {
	const epoch = 946_684_800
	micros := int64(binary.BigEndian.Uint64(b)) //nolint:gosec // the same bits
	return inCalendar(time.Unix(epoch+micros/1e6, micros%1e6*1000).UTC())
}

// calendarBegin and calendarEnd are the bounds of RFC 3339, in microseconds.
func calendarBegin() time.Time { return time.Time{} }
func calendarEnd() time.Time   { return time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC) }

// inCalendar returns t, or the nearer bound if t is outside. Enqueue refuses such times, but a
// row that was inserted by hand may contain infinity, which held records, sinks and JSON could
// not take.
func inCalendar(t time.Time) time.Time {
	switch year := t.Year(); {
	case year < 1:
		return calendarBegin()
	case year > 9999:
		return calendarEnd()
	default:
		return t
	}
}

// uuid returns b in its canonical text.
func (d *decoder) uuid(b []byte) string {
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:36], b[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return d.text(s[:])
}
