package pgoutbox

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox/internal/pgheld"
	"github.com/leat-go/leat/outbox"
)

// heldRow returns r as it was read from the log.
func heldRow(r *outbox.Record) (pgheld.Row, error) {
	id, canonical := ids.Map(r.ID)
	row := pgheld.Row{
		Seq: r.Seq, CreatedAt: r.CreatedAt, ID: ids.Text(id), Shard: r.Shard,
		Topic: r.Topic, Key: textOrNull(&r.Key), Type: textOrNull(&r.Type), Payload: r.Payload,
	}
	if !canonical {
		row.IDText = &r.ID
	}
	if !r.OccurredAt.IsZero() {
		row.OccurredAt = &r.OccurredAt
	}
	if len(r.Headers) > 0 {
		raw, err := json.Marshal(r.Headers)
		if err != nil {
			return pgheld.Row{}, fmt.Errorf("leat: headers of message %.200q: %w", r.ID, err)
		}
		text := string(raw)
		row.Headers = &text
	}
	return row, nil
}

// recordOf returns row as a record: the same that was set aside.
func recordOf(row *pgheld.Row) outbox.Record {
	r := outbox.Record{Seq: row.Seq, Shard: row.Shard, CreatedAt: row.CreatedAt.In(time.UTC)}
	r.ID, r.Topic, r.Payload = row.ID, row.Topic, row.Payload
	r.Key, r.Type = textOrEmpty(row.Key), textOrEmpty(row.Type)
	if row.IDText != nil {
		r.ID = *row.IDText
	}
	if row.OccurredAt != nil {
		r.OccurredAt = row.OccurredAt.In(time.UTC)
	}
	if row.Headers != nil {
		r.Headers = decodeHeaders([]byte(*row.Headers))
	}
	return r
}

func textOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
