package pgoutbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/outbox"
)

// Bounds of one INSERT. PostgreSQL takes 1 GiB a message at most; the number of
// parameters does not grow with the rows, since each column is one array.
const (
	maxChunkRows  = 10_000
	maxChunkBytes = 32 << 20
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
	occurred []*time.Time // nil while no message has one
	due      []*time.Time // nil where no message has a NotBefore
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

// textsOrNull returns texts as a parameter in which an empty text is NULL, and
// which is NULL as a whole where all of them are: nothing is encoded then.
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

// locks returns what a call with msgs locks, in the order in which it must be
// taken, and which of them is taken shared: the outbox as a whole, shared, then
// each key; or, past MaxKeyLocks, the outbox as a whole, exclusively. A key
// shares its lock with the same key of every other topic.
func (o *Outbox) locks(msgs []outbox.Message) (locks []int64, shared int64) {
	if o.cfg.UnorderedKeys {
		return []int64{}, 0
	}
	keys := make([]int64, 0, min(len(msgs), o.cfg.MaxKeyLocks)+1)
	for i := range msgs {
		if msgs[i].Key != "" {
			keys = append(keys, keyhash.Lock("outbox", o.table, msgs[i].Key))
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	switch {
	case len(keys) == 0:
		return keys, 0
	case len(keys) > o.cfg.MaxKeyLocks:
		return []int64{o.wholeBox}, 0
	default:
		return slices.Insert(keys, 0, o.wholeBox), o.wholeBox
	}
}

// chunks splits msgs so that each part fits one statement.
func chunks(msgs []outbox.Message) [][]outbox.Message {
	var parts [][]outbox.Message
	start, size := 0, 0
	for i := range msgs {
		if i > start && (i-start >= maxChunkRows || size+len(msgs[i].Payload) > maxChunkBytes) {
			parts = append(parts, msgs[start:i])
			start, size = i, 0
		}
		size += len(msgs[i].Payload)
	}
	return append(parts, msgs[start:])
}
