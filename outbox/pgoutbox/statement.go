package pgoutbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

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

// columns are the arrays of one INSERT.
type columns struct {
	shards   []int16
	ids      []string
	idTexts  []*string
	topics   []string
	keys     []*string
	types    []*string
	payloads [][]byte
	headers  []*string
	occurred []*time.Time
}

func columnsOf(msgs []outbox.Message) (*columns, error) {
	n := len(msgs)
	c := &columns{
		shards: make([]int16, n), ids: make([]string, n), idTexts: make([]*string, n),
		topics: make([]string, n), keys: make([]*string, n), types: make([]*string, n),
		payloads: make([][]byte, n), headers: make([]*string, n), occurred: make([]*time.Time, n),
	}
	for i := range msgs {
		if err := c.put(i, &msgs[i]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *columns) put(i int, m *outbox.Message) error {
	id, canonical := ids.Map(m.ID)
	c.ids[i] = ids.Text(id) // as text: the simple protocol knows no other form
	if !canonical {
		c.idTexts[i] = &m.ID
	}
	c.topics[i] = m.Topic
	c.shards[i] = keyhash.Shard(shardKey(m))
	c.keys[i] = textOrNull(&m.Key)
	c.types[i] = textOrNull(&m.Type)
	c.payloads[i] = m.Payload
	if m.Payload == nil {
		c.payloads[i] = []byte{}
	}
	if len(m.Headers) > 0 {
		raw, err := json.Marshal(m.Headers)
		if err != nil {
			return fmt.Errorf("leat: headers of message %s: %w", m.ID, err)
		}
		text := string(raw)
		c.headers[i] = &text
	}
	if !m.OccurredAt.IsZero() {
		c.occurred[i] = &m.OccurredAt
	}
	return nil
}

// args are the parameters of enqueue.sql.
func (c *columns) args(locks []int64, shared int64, instance *string) []any {
	return []any{
		locks, shared, instance,
		c.shards, c.ids, c.idTexts, c.topics, c.keys, c.types, c.payloads, c.headers, c.occurred,
	}
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
	table := o.cfg.names().Qualified("")
	keys := make([]int64, 0, min(len(msgs), o.cfg.MaxKeyLocks)+1)
	for i := range msgs {
		if msgs[i].Key != "" {
			keys = append(keys, keyhash.Lock("outbox", table, msgs[i].Key))
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
