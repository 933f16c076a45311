package pgheld

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// Row is a record as the log has it.
type Row struct {
	Seq        int64
	CreatedAt  time.Time
	OccurredAt *time.Time
	// ID is a UUID, IDText the producer's id where that is none.
	ID     string
	Shard  int16
	IDText *string
	Topic  string
	// Key is nil where the record is unordered.
	Key     *string
	Type    *string
	Payload []byte
	// Headers is a JSON object of texts.
	Headers *string
}

// scans are the places for the columns of a row, as all statements return them.
func (r *Row) scans() []any {
	return []any{
		&r.Seq, &r.CreatedAt, &r.OccurredAt, &r.ID, &r.Shard, &r.IDText,
		&r.Topic, &r.Key, &r.Type, &r.Payload, &r.Headers,
	}
}

// Key is what records are ordered by.
type Key struct {
	Topic, Key string
}

// keySet are the keys that a write touches, as parameters.
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

// columns are rows as parameters.
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

func (c *columns) add(r *Row) {
	c.seqs = append(c.seqs, r.Seq)
	c.created = append(c.created, r.CreatedAt)
	c.occurred = append(c.occurred, r.OccurredAt)
	c.ids = append(c.ids, r.ID)
	c.shards = append(c.shards, r.Shard)
	c.idTexts = append(c.idTexts, r.IDText)
	c.topics = append(c.topics, r.Topic)
	c.keys = append(c.keys, r.Key)
	c.types = append(c.types, r.Type)
	payload := r.Payload
	if payload == nil {
		payload = []byte{}
	}
	c.payloads = append(c.payloads, payload)
	c.headers = append(c.headers, r.Headers)
}

func collectKeys(rows pgx.Rows) ([]Key, error) {
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Key])
}
