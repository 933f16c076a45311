package memoutbox

import (
	"context"
	"slices"

	"github.com/leat-go/leat/outbox"
)

// keyLocks maps every key that an open transaction has enqueued to that transaction. A key stays
// locked until its transaction ends, so that the numbers of a key ascend in the order of the
// commits.
type keyLocks map[string]*Tx

// lockKeys takes the lock of every key among msgs before a number is drawn. It locks them in
// sorted order, since two calls with opposite orders would wait for each other for ever.
func (tx *Tx) lockKeys(ctx context.Context, msgs []outbox.Message) error {
	keys := make([]string, 0, len(msgs))
	for i := range msgs {
		if msgs[i].Key != "" {
			keys = append(keys, msgs[i].Key)
		}
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if err := tx.lockKey(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) lockKey(ctx context.Context, key string) error {
	for {
		holder, err := tx.tryLock(key)
		if err != nil || holder == nil {
			return err
		}
		select {
		case <-holder.ended:
		case <-tx.ended: // ended by another goroutine; the next check finds out
		case <-ctx.Done():
			tx.abort()
			return ctx.Err()
		}
	}
}

// tryLock returns the transaction that holds key, or nil once tx does.
func (tx *Tx) tryLock(key string) (holder *Tx, err error) {
	tx.ob.mu.Lock()
	defer tx.ob.mu.Unlock()
	if err := tx.usable(); err != nil {
		return nil, err
	}
	if holder := tx.ob.locks[key]; holder != nil && holder != tx {
		return holder, nil
	}
	tx.ob.locks[key] = tx
	return nil, nil
}

// release releases all locks of tx.
func (l keyLocks) release(tx *Tx) {
	for key, holder := range l {
		if holder == tx {
			delete(l, key)
		}
	}
}
