package sqllog

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox"
)

// RecordScan reads the rows of one query as records. Texts are read in place from the driver's
// memory, and values that repeat from row to row are stored once. It is not safe for concurrent
// use.
type RecordScan struct {
	id, topic, key, kind, headers sql.RawBytes
	payload                       []byte
	seq                           int64
	shard                         Shard
	occurred, created             Micros

	into                []any
	lastTopic, lastKind string
}

// NewRecordScan returns a RecordScan for seq, the columns of a MessageRow and created_at, and
// further columns into more.
func NewRecordScan(more ...any) *RecordScan {
	s := &RecordScan{}
	s.into = append([]any{&s.seq, &s.shard, &s.id, &s.topic, &s.key, &s.kind, &s.payload, &s.headers, &s.occurred, &s.created}, more...)
	return s
}

// Next reads a row of *sql.Rows.
func (s *RecordScan) Next(scan sqlstore.Scanner) (r outbox.Record, err error) {
	if err := scan(s.into...); err != nil {
		return r, fmt.Errorf("leat: row %d cannot be read: %w", s.seq, err)
	}
	r.Seq, r.Shard = s.seq, s.shard.Shard
	r.ID, r.Key, r.Payload, r.CreatedAt = string(s.id), string(s.key), s.payload, s.created.Time()
	r.Topic, r.Type = again(&s.lastTopic, s.topic), again(&s.lastKind, s.kind)
	if s.occurred.Valid {
		r.OccurredAt = time.UnixMicro(s.occurred.Micros).UTC()
	}
	if len(s.headers) > 0 {
		r.Headers = storable.Headers(s.headers)
	}
	return r, nil
}

// odd returns the names of the columns of the last row with values that Enqueue does not write.
func (s *RecordScan) odd() (columns []string) {
	if s.shard.Odd {
		columns = append(columns, "shard")
	}
	if s.occurred.Odd {
		columns = append(columns, "occurred_at")
	}
	if s.created.Odd {
		columns = append(columns, "created_at")
	}
	return columns
}

// again returns text as a string: the previous string if it is equal.
func again(last *string, text []byte) string {
	if *last != string(text) {
		*last = string(text)
	}
	return *last
}
