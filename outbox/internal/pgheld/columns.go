package pgheld

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/driver"
)

// keySet are the keys that a write touches, as parameters of statements.
type keySet struct {
	topics []string
	keys   []*string
}

func (k *keySet) add(topic string, key *string) {
	if key != nil {
		k.topics = append(k.topics, topic)
		k.keys = append(k.keys, key)
	}
}

// columns are rows as parameters of a statement: one array per column.
type columns struct {
	seqs     []int64
	created  []time.Time
	occurred []*time.Time
	ids      []string
	shards   []int16
	idTexts  []*string
	topics   []string
	keys     []*string
	types    []*string
	payloads [][]byte
	headers  []*string
}

func (c *columns) add(r *row) {
	c.seqs = append(c.seqs, r.seq)
	c.created = append(c.created, r.createdAt)
	c.occurred = append(c.occurred, r.occurredAt)
	c.ids = append(c.ids, r.id)
	c.shards = append(c.shards, r.shard)
	c.idTexts = append(c.idTexts, r.idText)
	c.topics = append(c.topics, r.topic)
	c.keys = append(c.keys, r.key)
	c.types = append(c.types, r.kind)
	c.payloads = append(c.payloads, r.payload)
	c.headers = append(c.headers, r.headers)
}

func collectKeys(rows pgx.Rows) ([]driver.Key, error) {
	return pgx.CollectRows(rows, pgx.RowToStructByPos[driver.Key])
}
