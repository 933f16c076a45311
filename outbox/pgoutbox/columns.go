package pgoutbox

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/outbox"
)

// columns are the arrays of one INSERT. An empty text is NULL.
type columns struct {
	shards   []int16
	ids      []pgtype.UUID
	idTexts  []string
	topics   []string
	keys     []string
	types    []string
	payloads [][]byte
	headers  []string
	occurred []*time.Time // nil if no message has one
	due      []*time.Time // nil if no message has a NotBefore
}

func columnsOf(msgs []outbox.Message) (*columns, error) {
	n := len(msgs)
	texts := make([]string, 5*n)
	column := func(i int) []string { return texts[i*n : (i+1)*n : (i+1)*n] }
	c := &columns{
		shards: make([]int16, n), ids: make([]pgtype.UUID, n), payloads: make([][]byte, n),
		idTexts: column(0), topics: column(1), keys: column(2), types: column(3), headers: column(4),
	}
	for i := range msgs {
		if err := c.put(i, &msgs[i]); err != nil {
			return nil, err
		}
	}
	c.putDue(msgs)
	return c, nil
}

func (c *columns) put(i int, m *outbox.Message) error {
	id, canonical := ids.Map(m.ID)
	c.ids[i] = pgtype.UUID{Bytes: id, Valid: true}
	if !canonical {
		c.idTexts[i] = m.ID
	}
	c.topics[i], c.keys[i], c.types[i] = m.Topic, m.Key, m.Type
	c.shards[i] = keyhash.Shard(shardKey(m))
	c.payloads[i] = m.Payload
	if m.Payload == nil {
		c.payloads[i] = []byte{}
	}
	if len(m.Headers) > 0 {
		raw, err := json.Marshal(m.Headers)
		if err != nil {
			return fmt.Errorf("leat: headers of message %.200q: %w", m.ID, err)
		}
		c.headers[i] = string(raw)
	}
	if !m.OccurredAt.IsZero() {
		if c.occurred == nil {
			c.occurred = make([]*time.Time, len(c.shards))
		}
		c.occurred[i] = &m.OccurredAt
	}
	return nil
}

// args are the parameters of enqueue.sql, and of enqueue_delayed.sql.
func (c *columns) args(locks []int64, shared int64, instance *string) []any {
	args := []any{
		locks, shared, instance,
		c.shards, c.ids, textsOrNull(c.idTexts), c.topics, textsOrNull(c.keys), textsOrNull(c.types),
		c.payloads, textsOrNull(c.headers), c.occurred,
	}
	if c.due != nil {
		args = append(args, c.due)
	}
	return args
}

// textsOrNull returns texts as a parameter in which an empty text is NULL, and which is NULL as a
// whole if all of them are: then nothing is encoded.
func textsOrNull(texts []string) any {
	empty := 0
	for _, s := range texts {
		if s == "" {
			empty++
		}
	}
	switch empty {
	case 0:
		return texts
	case len(texts):
		return nil
	}
	pointers := make([]*string, len(texts))
	for i := range texts {
		pointers[i] = textOrNull(&texts[i])
	}
	return pointers
}

func shardKey(m *outbox.Message) []byte {
	if m.Key != "" {
		return []byte(m.Key)
	}
	return []byte(m.ID)
}

func textOrNull(s *string) *string {
	if *s == "" {
		return nil
	}
	return s
}
