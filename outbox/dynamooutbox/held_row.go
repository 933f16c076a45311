package dynamooutbox

import (
	"encoding/json"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// The attributes that a held record has in addition to those of its message. Times are
// microseconds since 1970.
const (
	attrState    = "st"
	attrNext     = "nx"
	attrAttempts = "at"
	attrErrors   = "er"
	attrReason   = "re"
	attrSince    = "si"
	attrBytes    = "by"
)

// mostErrorBytes bounds the errors of a record: item and payload share 400 KB. The newest
// errors are kept.
const mostErrorBytes = 16_000

func encodeRow(i item, row *heldqueue.Row) item {
	i[attrState], i[attrAttempts], i[attrReason] = number(int64(row.State)), number(int64(row.Attempts)), text(row.Reason)
	i[attrSince], i[attrBytes], i[attrErrors] = number(row.Since.UnixMicro()), number(int64(row.Bytes)), bytes(encodeErrors(row.Errors))
	i[attrNext] = number(0)
	if !row.Next.IsZero() {
		i[attrNext] = number(row.Next.UnixMicro())
	}
	return i
}

func encodeErrors(all []admin.Failure) []byte {
	for from := range all {
		if raw, err := json.Marshal(all[from:]); err == nil && len(raw) <= mostErrorBytes {
			return raw
		}
	}
	return []byte("[]")
}

func decodeRow(i item, r *outbox.Record) heldqueue.Row {
	row := heldqueue.Row{
		Seq: r.Seq, ID: r.ID, Key: driver.Key{Topic: r.Topic, Key: r.Key},
		State:    heldqueue.State(numberOf(i, attrState)), //nolint:gosec // what we have written
		Attempts: int(numberOf(i, attrAttempts)), Reason: textOf(i, attrReason), Bytes: int(numberOf(i, attrBytes)),
		Since: time.UnixMicro(numberOf(i, attrSince)).UTC(),
	}
	if next := numberOf(i, attrNext); next != 0 {
		row.Next = time.UnixMicro(next).UTC()
	}
	_ = json.Unmarshal(bytesOf(i, attrErrors), &row.Errors) // what we have written
	return row
}
