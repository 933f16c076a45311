package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
)

// blockedFor is how long an Enqueue must stay blocked to count as blocked.
const blockedFor = 150 * time.Millisecond

func orderChecks() []Check {
	unordered := func(f Features) bool { return f.NoKeyOrder }
	unlocked := func(f Features) bool { return f.NoKeyOrder || f.OptimisticKeys }
	apart := func(f Features) bool { return unlocked(f) || f.OneWriter }
	return []Check{
		{
			Name: "O5_KeyIsHeldUntilTheEnd", run: keyIsHeldUntilTheEnd,
			skip: apart,
		},
		{Name: "O5_WaitingWriterGoesOn", run: waitingWriterGoesOn, skip: unlocked},
		{
			Name: "O5_NumberIsDrawnUnderTheLock", run: numberIsDrawnUnderTheLock,
			skip: apart,
		},
		{
			Name: "O1_FailedEnqueueIsNotCommitted", run: failedEnqueueIsNotCommitted,
			skip: apart,
		},
		{Name: "O5_KeysDoNotDeadlock", run: keysDoNotDeadlock, skip: unordered},
		{Name: "O5_KeysAreBytes", run: otherKeysGoOn, skip: unordered},
		{Name: "O5_EarlyTransactionLateKey", run: earlyTransactionLateKey, skip: oneWriter},
	}
}

// keyIsHeldUntilTheEnd has a second writer of a key try while the first is open.
// If it gets through, its record is read first although its number is higher.
func keyIsHeldUntilTheEnd(ctx context.Context, tr *trial) {
	first := tr.open(ctx, append(keyed("k", "first"), named("no key")...)...)
	r := tr.acquire(ctx)
	second := tr.begin(ctx)
	short, cancel := context.WithTimeout(ctx, blockedFor)
	defer cancel()
	blocked := second.Enqueue(short, keyed("k", "second")...)
	if blocked == nil {
		overtaken(ctx, r, first, second)
		return
	}
	if short.Err() == nil {
		fail.With("enqueue of a key that an open transaction holds: error %w, want to wait", blocked)
	}
	_ = second.Rollback(ctx) // any error will do: the end of the wait may have broken the connection
	fail.If(first.Commit(ctx))
	tr.commit(ctx, keyed("k", "third")...)
	r.expectDrain(ctx, 10, "first", "no key", "third")
}

// overtaken shows the effect of a key that was not held.
func overtaken(ctx context.Context, r *reader, first, second Tx) {
	fail.If(second.Commit(ctx))
	got := r.drain(ctx, 10)
	fail.If(first.Commit(ctx))
	rest := r.drain(ctx, 10)
	expectOrder(append(got, rest...))
	fail.With("enqueue of a key that an open transaction holds did not wait")
}

func waitingWriterGoesOn(ctx context.Context, tr *trial) {
	for i, commit := range []bool{true, false} {
		first := tr.open(ctx, keyed("k", fmt.Sprintf("first-%d", i))...)
		done := make(chan error, 1)
		go func() { done <- tr.finish(ctx, true, keyed("k", fmt.Sprintf("second-%d", i))...) }()
		select {
		case err := <-done:
			fail.Now(errors.Join(errors.New("enqueue: a writer of the same key did not wait"), err))
		case <-time.After(blockedFor):
		}
		fail.IfAny(end(ctx, first, commit), <-done)
	}
	tr.expectAll(ctx, "first-0", "second-0", "second-1")
}

// keysDoNotDeadlock has writers enqueue the same keys in one call each, in opposite orders. A
// transaction that holds the middle key makes all of them queue up first: a writer that locks in
// the order of its messages has then locked keys that others want.
func keysDoNotDeadlock(ctx context.Context, tr *trial) {
	const writers, rounds, keys = 4, 10, 5
	middle := tr.open(ctx, keyed(fmt.Sprintf("key%d", keys/2), "middle")...)
	done := make(chan error, writers)
	for w := range writers {
		go func() {
			var errs []error
			for round := range rounds {
				msgs := make([]outbox.Message, keys)
				for k := range msgs {
					key := k
					if w%2 == 1 {
						key = keys - 1 - k
					}
					msgs[k] = keyed(fmt.Sprintf("key%d", key), fmt.Sprintf("w%d-r%d", w, round))[0]
				}
				errs = append(errs, tr.finish(ctx, true, msgs...))
			}
			done <- errors.Join(errs...)
		}()
	}
	<-time.After(blockedFor)
	errs := []error{end(ctx, middle, true)}
	for range writers {
		errs = append(errs, <-done)
	}
	fail.IfAny(errs...)
	got := tr.readAll(ctx)
	if want := 1 + writers*rounds*keys; len(got) != want {
		fail.With("read %d records, want %d", len(got), want)
	}
	expectOrder(got)
}

// earlyTransactionLateKey has a transaction write first, and write the key only after another
// that began later has committed it. Sorted by transaction, the key would be out of order.
func earlyTransactionLateKey(ctx context.Context, tr *trial) {
	early := tr.open(ctx, named("early")...)
	tr.commit(ctx, keyed("k", "k-1")...)
	fail.IfAny(early.Enqueue(ctx, keyed("k", "k-2")...), early.Commit(ctx))
	tr.commit(ctx, keyed("k", "k-3")...)
	r := tr.acquire(ctx)
	if tr.features.OptimisticKeys { // Commit draws the numbers
		r.expectDrain(ctx, 1, "k-1", "early", "k-2", "k-3")
		return
	}
	r.expectDrain(ctx, 1, "early", "k-1", "k-2", "k-3")
}

// numberIsDrawnUnderTheLock has the holder of a key enqueue it again while another writer waits
// for it. If the waiting writer drew its number before the wait, its message has a lower number
// than the holder's last, although it commits later.
func numberIsDrawnUnderTheLock(ctx context.Context, tr *trial) {
	for _, n := range []int{1, 3} {
		holder := tr.open(ctx, keyed("k", "first")...)
		waiting := numbered("waited", n)
		done := make(chan error, 1)
		go func() { done <- tr.finish(ctx, true, keyed("k", waiting...)...) }()
		select {
		case err := <-done:
			fail.Now(errors.Join(errors.New("enqueue: a writer of the same key did not wait"), err))
		case <-time.After(blockedFor):
		}
		fail.If(holder.Enqueue(ctx, keyed("k", "last of the holder")...), "enqueue of a key that the transaction holds")
		fail.IfAny(end(ctx, holder, true), <-done)
		want := append([]string{"first", "last of the holder"}, waiting...)
		fail.In(fmt.Sprintf("a transaction that waited for the key with %d messages", n), func() { tr.expectAll(ctx, want...) })
	}
}

// crossedWait bounds the wait of two transactions that hold each other's keys. Databases
// notice that within a second.
const crossedWait = 3 * time.Second

// failedEnqueueIsNotCommitted has two transactions wait for each other's keys, so that the
// Enqueue of at least one fails. Committing that transaction nevertheless must return an error:
// otherwise it has its first message, and whatever else it wrote, without the second.
func failedEnqueueIsNotCommitted(ctx context.Context, tr *trial) {
	type result struct {
		name                string
		enqueued, committed error
	}
	keys := []string{"here", "there"}
	var txs []Tx
	for _, key := range keys {
		txs = append(txs, tr.open(ctx, keyed(key, "first "+key)...))
	}
	results := make(chan result, len(txs))
	for i, tx := range txs {
		go func() {
			// One times out first, so that the other continues.
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
			fail.With("a transaction in which Enqueue had failed was committed: %w", r.enqueued)
		case r.enqueued != nil:
			failed++
		case r.committed != nil:
			fail.With("commit: %w", r.committed)
		default:
			want = append(want, "first "+r.name, "second "+r.name)
		}
	}
	if failed == 0 {
		fail.With("enqueue: two transactions hold each other's keys, and both went on")
	}
	tr.expectAll(ctx, want...)
}

// likeK returns keys that a collation could consider equal to "k". The fourth is the Kelvin sign.
func likeK() []string {
	return []string{"K", "k ", " k", "\u212a", "k\u0301"}
}

// otherKeysGoOn has writers commit keys that a collation could consider equal to one key, while a
// transaction of that key is open. Each record is read, with its own key.
func otherKeysGoOn(ctx context.Context, tr *trial) {
	commit := tr.openLate(ctx, keyed("k", "k")...)
	for _, key := range likeK() {
		fail.In(fmt.Sprintf("key %q while a transaction holds %q", key, "k"), func() { tr.commit(ctx, keyed(key, key)...) })
	}
	r := tr.acquire(ctx)
	early := r.drain(ctx, 2)
	commit(ctx)
	late := r.drain(ctx, 2)
	expectOwnKeys(early, likeK()...)
	expectOwnKeys(late, "k")
}

// expectOwnKeys expects a record of each of these keys, with its key as payload.
func expectOwnKeys(got []outbox.Record, keys ...string) {
	expect(got, keys...)
	for i := range got {
		if payload := string(got[i].Payload); got[i].Key != payload {
			fail.With("read a record with key %q, want %q", got[i].Key, payload)
		}
	}
}
