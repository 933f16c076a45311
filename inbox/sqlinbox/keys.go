package sqlinbox

import (
	"context"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/sqlstore"
)

// keyBuckets returns how many locks the queues of keys share. They are separate from the lock
// rows of ids, which are held while a handler runs.
func (t *tables) keyBuckets() int64 {
	if t.Dialect.OneWriter {
		return 0 // locks are not needed
	}
	return 1024
}

// key is the stored form of a driver.Key.
type key struct {
	driver.Key

	hash        any // nil if the key has no name, so that its messages are not ordered
	topic, name []byte
	bucket      int64
}

func (s *store) key(k driver.Key) key { return s.tables.key(s.consumer, k) }

func (t *tables) key(consumer string, k driver.Key) key {
	stored := key{Key: k, topic: []byte(k.Topic), name: []byte(k.Name)}
	if k.Name == "" {
		return stored
	}
	hash := keyhash.Lock("inbox key", t.Table, consumer, k.Topic, k.Name)
	stored.hash = hash
	if n := uint64(t.keyBuckets()); n > 0 { //nolint:gosec // not negative
		stored.bucket = idBuckets + int64(uint64(hash)%n) //nolint:gosec // a hash: all bits are meant
	}
	return stored
}

// lockKey waits until no other transaction changes the queue of k. A transaction locks at most
// one key, and only after its own message, so there are no cycles of waits.
func (t *tables) lockKey(ctx context.Context, q sqlstore.Querier, k key) error {
	if k.hash == nil || t.Dialect.OneWriter {
		return nil
	}
	var bucket int64
	return q.QueryRowContext(ctx, t.SQL["key_lock"], k.bucket).Scan(&bucket)
}

// isKeyParked sets parked if a message of k is parked.
func (t *tables) isKeyParked(ctx context.Context, q sqlstore.Querier, number int64, k key, parked *bool) error {
	if k.hash == nil {
		return nil
	}
	return q.QueryRowContext(ctx, t.SQL["key_parked"], number, k.hash, k.topic, k.name).Scan(parked)
}

// promote makes the first message of a key due, if none is before it any more. The caller holds
// the key's lock. It touches no other message: a running handler has its row locked.
func (t *tables) promote(ctx context.Context, q sqlstore.Querier, number int64, k key) error {
	if k.hash == nil {
		return nil
	}
	first, err := t.first(ctx, q, number, k)
	if err != nil || first.no == 0 || first.state != admin.StateWait {
		return err
	}
	_, err = t.Exec(ctx, q, "parked_due", first.no, string(admin.StateWait))
	return err
}
