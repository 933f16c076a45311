package sqloutbox

import (
	"context"
	"slices"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
)

const (
	// buckets is the number of locks that keys share. Two keys of one bucket wait for
	// each other.
	buckets = 4096
	// promoterLock is the bucket that is locked while delayed messages are moved into the log.
	promoterLock = buckets
	// maxLocks is the number of buckets that one statement locks. With a list of 3,000,
	// the plan becomes a scan, which locks all of them.
	maxLocks = 64
)

// bucket returns the lock of a key, which it shares with the same key of other topics.
func (o *Outbox) bucket(key string) int64 {
	return int64(uint64(keyhash.Lock("outbox", key)) % buckets) //nolint:gosec // a hash: all bits are meant
}

// buckets returns the locks of messages that have keys, ascending, each once.
func (o *Outbox) buckets(msgs []outbox.Message) []int64 {
	var all []int64
	for i := range msgs {
		if msgs[i].Key != "" {
			all = append(all, o.bucket(msgs[i].Key))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// lockBuckets waits for locks, which are ascending, in their order: so two calls do not
// deadlock.
func (o *Outbox) lockBuckets(ctx context.Context, q sqlstore.Querier, locks []int64) error {
	locked, err := o.takeBuckets(ctx, q, "lock_buckets", locks)
	if err == nil && len(locked) != len(locks) {
		err = o.errLocks()
	}
	return err
}

// takeBuckets returns the locks that the statement has taken.
func (o *Outbox) takeBuckets(ctx context.Context, q sqlstore.Querier, name string, locks []int64) ([]int64, error) {
	var taken []int64
	for part := range slices.Chunk(locks, maxLocks) {
		got, err := sqlstore.Column[int64](ctx, q, o.log.SQL.With(name, sqldialect.Places(len(part))), sqlstore.Anys(part)...)
		if err != nil {
			return nil, err
		}
		taken = append(taken, got...)
	}
	return taken, nil
}
