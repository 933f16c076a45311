package pgheld

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
)

const (
	// nullPayload replaces the type of a record without one, if the payload is nil and not empty:
	// kafkasink's FormatWatermill distinguishes the two.
	nullPayload = "(null payload)"
	// escapedHeaders is a header that replaces all headers if one of them has a NUL, which jsonb
	// cannot hold: its value is their JSON. Headers that look like that themselves are stored in
	// the same way.
	escapedHeaders = "leat_escaped_headers"
)

// row is a record as stored in the tables.
type row struct {
	seq        int64
	createdAt  time.Time
	occurredAt *time.Time
	id         string // a UUID
	shard      int16
	idText     *string // the producer's id, if that is not a UUID
	topic      string
	key        *string // nil if the record is unordered
	kind       *string
	payload    []byte
	headers    *string // a JSON object of texts
}

// scans are the destinations for the columns of a row, as all statements return them.
func (r *row) scans() []any {
	return []any{
		&r.seq, &r.createdAt, &r.occurredAt, &r.id, &r.shard, &r.idText,
		&r.topic, &r.key, &r.kind, &r.payload, &r.headers,
	}
}

// rowOf returns a record as it was read from the log.
func rowOf(r *outbox.Record) (row, error) {
	id, canonical := ids.Map(r.ID)
	stored := row{
		seq: r.Seq, createdAt: r.CreatedAt, id: ids.Text(id), shard: r.Shard,
		topic: r.Topic, key: orNull(r.Key), kind: orNull(r.Type), payload: r.Payload,
	}
	if r.Payload == nil {
		stored.payload = []byte{}
		if r.Type == "" {
			stored.kind = new(nullPayload)
		}
	}
	if !canonical {
		stored.idText = &r.ID
	}
	if !r.OccurredAt.IsZero() {
		stored.occurredAt = &r.OccurredAt
	}
	var err error
	if stored.headers, err = storedHeaders(r.Headers); err != nil {
		return row{}, fmt.Errorf("leat: headers of message %.200q: %w", r.ID, err)
	}
	return stored, nil
}

// record returns the record that was set aside.
func (r *row) record() outbox.Record {
	found := outbox.Record{Seq: r.seq, Shard: r.shard, CreatedAt: r.createdAt.In(time.UTC)}
	found.ID, found.Topic, found.Payload = r.id, r.topic, r.payload
	found.Key, found.Type = orEmpty(r.key), orEmpty(r.kind)
	if found.Type == nullPayload && len(r.payload) == 0 {
		found.Type, found.Payload = "", nil
	}
	if r.idText != nil {
		found.ID = *r.idText
	}
	if r.occurredAt != nil {
		found.OccurredAt = r.occurredAt.In(time.UTC)
	}
	if r.headers != nil {
		found.Headers = headersOf(*r.headers)
	}
	return found
}

// storedHeaders returns headers as they are stored, nil for none.
func storedHeaders(headers map[string]string) (*string, error) {
	if len(headers) == 0 {
		return nil, nil //nolint:nilnil // NULL is stored for none
	}
	raw, err := json.Marshal(headers)
	if _, taken := headers[escapedHeaders]; err == nil && (taken || hasNUL(headers)) {
		raw, err = json.Marshal(map[string]string{escapedHeaders: string(raw)})
	}
	text := string(raw)
	return &text, err
}

func hasNUL(headers map[string]string) bool {
	for name, value := range headers {
		if strings.IndexByte(name, 0) >= 0 || strings.IndexByte(value, 0) >= 0 {
			return true
		}
	}
	return false
}

// headersOf undoes storedHeaders.
func headersOf(stored string) (headers map[string]string) {
	_ = json.Unmarshal([]byte(stored), &headers) // texts, as storedHeaders has written them
	if escaped, ok := headers[escapedHeaders]; ok && len(headers) == 1 {
		headers = nil
		_ = json.Unmarshal([]byte(escaped), &headers)
	}
	return headers
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
