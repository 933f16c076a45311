package admin

import (
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// KeysQuery selects parked keys. The zero value selects the first hundred of the
// default group.
type KeysQuery struct {
	// Group is the relay group that has parked them.
	// Defaults to "default".
	Group string
	// Topic is a pattern of topics, in which * stands for any run of characters.
	// Defaults to all topics.
	Topic string
	// After is the Seq of the last key of the page before.
	// Defaults to the start.
	After int64
	// Limit bounds the keys that are returned, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

func (q *KeysQuery) complete() error {
	var err error
	if q.Limit, err = limitOr(q.Limit, 100, 10_000); err != nil {
		return err
	}
	q.Group, err = complete(q.Group, map[string]string{"Topic": q.Topic})
	return err
}

// ParkedKey is a key whose first held record is parked, or a parked record without a
// key.
type ParkedKey struct {
	// Key is empty in Key.Key for a record without a key.
	Key driver.Key
	// Seq and ID are the number and the id of the parked record.
	Seq int64
	ID  string
	// Records is the number of records that are held of the key, the parked one
	// included, counted up to 100,000.
	Records int
	// Attempts is the number of deliveries of the parked record that have failed.
	Attempts int
	// Reason is the reason why it was parked. LastError is the text of its last failure and LastKind the
	// kind of it; both are empty if there was none.
	Reason, LastError, LastKind string
	// Since is when it was set aside, by the database's clock.
	Since time.Time
}
