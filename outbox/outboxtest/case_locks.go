package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// numberIsDrawnUnderTheLock has the holder of a key enqueue it again while another writer
// waits for it. If that one has drawn its number before it waited, its message has a lower
// number than the holder's last, although it commits later.
func numberIsDrawnUnderTheLock(ctx context.Context, tr *trial) error {
	for _, n := range []int{1, 3} {
		holder, err := tr.open(ctx, keyed("k", "first")...)
		if err != nil {
			return err
		}
		waiting := numbered("waited", n)
		done := make(chan error, 1)
		go func() { done <- tr.finish(ctx, true, keyed("k", waiting...)...) }()
		select {
		case err := <-done:
			return errors.Join(errors.New("enqueue: a writer of the same key did not wait"), err)
		case <-time.After(blockedFor):
		}
		if err := holder.Enqueue(ctx, keyed("k", "last of the holder")...); err != nil {
			return fmt.Errorf("enqueue of a key that the transaction holds: %w", err)
		}
		if err := errors.Join(end(ctx, holder, true), <-done); err != nil {
			return err
		}
		if err := tr.expectAll(ctx, append([]string{"first", "last of the holder"}, waiting...)...); err != nil {
			return fmt.Errorf("a transaction that waited for the key with %d messages: %w", n, err)
		}
	}
	return nil
}

// crossedWait bounds the wait of two transactions that hold each other's keys. Databases
// notice that within a second.
const crossedWait = 3 * time.Second

// failedEnqueueIsNotCommitted has two transactions wait for each other's keys, so that the
// Enqueue of one fails at least. Whoever commits that transaction all the same must be told:
// else it has its first message, and whatever else it wrote, without the second.
func failedEnqueueIsNotCommitted(ctx context.Context, tr *trial) error {
	type result struct {
		name                string
		enqueued, committed error
	}
	keys := []string{"here", "there"}
	var txs []Tx
	for _, key := range keys {
		tx, err := tr.open(ctx, keyed(key, "first "+key)...)
		if err != nil {
			return err
		}
		txs = append(txs, tx)
	}
	results := make(chan result, len(txs))
	for i, tx := range txs {
		go func() {
			// One gives up first, so that the other goes on.
			short, cancel := context.WithTimeout(ctx, crossedWait*time.Duration(i+1))
			defer cancel()
			r := result{name: keys[i]}
			r.enqueued = tx.Enqueue(short, keyed(keys[1-i], "second "+keys[i])...)
			r.committed = tx.Commit(ctx)
			results <- r
		}()
	}
	var want []string
	failed := 0
	for range txs {
		r := <-results
		switch {
		case r.enqueued != nil && r.committed == nil:
			return fmt.Errorf("a transaction in which Enqueue had failed was committed: %w", r.enqueued)
		case r.enqueued != nil:
			failed++
		case r.committed != nil:
			return fmt.Errorf("commit: %w", r.committed)
		default:
			want = append(want, "first "+r.name, "second "+r.name)
		}
	}
	if failed == 0 {
		return errors.New("enqueue: two transactions hold each other's keys, and both went on")
	}
	return tr.expectAll(ctx, want...)
}
