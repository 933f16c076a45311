package heldqueue

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// keySet are the keys that a write touches.
type keySet struct {
	keys []driver.Key
	seen map[driver.Key]bool
}

func (k *keySet) add(r *Row) {
	if !r.ordered() || k.seen[r.Key] {
		return
	}
	if k.seen == nil {
		k.seen = make(map[driver.Key]bool)
	}
	k.seen[r.Key] = true
	k.keys = append(k.keys, r.Key)
}

// settle restores the invariant for the lines of keys, and returns the keys without a held
// record. A first row that waits has lost what it waited for, and becomes due; a Retry row behind
// the first changes to Wait.
func settle(ctx context.Context, tx Tx, keys []driver.Key) (free []driver.Key, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	heads, err := headsOf(ctx, tx, keys)
	if err != nil {
		return nil, err
	}
	var changed []Row
	for _, key := range keys {
		line := heads[key]
		if len(line) == 0 {
			free = append(free, key)
			continue
		}
		for i, row := range line {
			switch {
			case i == 0 && row.State == Wait:
				row.State, row.Next = Retry, tx.Now()
			case i > 0 && row.State == Retry:
				row.State, row.Next = Wait, time.Time{}
			default:
				continue
			}
			changed = append(changed, row)
		}
	}
	return free, store(changed, func(rows []Row) error { return tx.Update(ctx, rows) })
}

// headsOf returns, for each key, the first row of its line and the rows behind it that do not
// wait, ascending in Seq.
func headsOf(ctx context.Context, r Reader, keys []driver.Key) (map[driver.Key][]Row, error) {
	all, err := r.Heads(ctx, keys)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, ascending)
	heads := make(map[driver.Key][]Row, len(keys))
	for i := range all {
		heads[all[i].Key] = append(heads[all[i].Key], all[i])
	}
	return heads, nil
}
