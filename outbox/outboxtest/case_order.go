package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

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
func keyIsHeldUntilTheEnd(ctx context.Context, tr *trial) error {
	first, err := tr.open(ctx, append(keyed("k", "first"), named("no key")...)...)
	if err != nil {
		return err
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	second, err := tr.begin(ctx)
	if err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, blockedFor)
	defer cancel()
	blocked := second.Enqueue(short, keyed("k", "second")...)
	if blocked == nil {
		return overtaken(ctx, r, first, second)
	}
	if short.Err() == nil {
		return fmt.Errorf("enqueue of a key that an open transaction holds: error %w, want to wait", blocked)
	}
	_ = second.Rollback(ctx) // any error: the connection may be gone with the wait
	if err := first.Commit(ctx); err != nil {
		return err
	}
	if err := tr.commit(ctx, keyed("k", "third")...); err != nil {
		return err
	}
	return r.expectDrain(ctx, 10, "first", "no key", "third")
}

// overtaken shows what comes of a key that was not held.
func overtaken(ctx context.Context, r *reader, first, second Tx) error {
	if err := second.Commit(ctx); err != nil {
		return err
	}
	got, err := r.drain(ctx, 10)
	if err != nil {
		return err
	}
	if err := first.Commit(ctx); err != nil {
		return err
	}
	rest, err := r.drain(ctx, 10)
	if err != nil {
		return err
	}
	if err := expectOrder(append(got, rest...)); err != nil {
		return err
	}
	return errors.New("enqueue of a key that an open transaction holds did not wait")
}

func waitingWriterGoesOn(ctx context.Context, tr *trial) error {
	for i, commit := range []bool{true, false} {
		first, err := tr.open(ctx, keyed("k", fmt.Sprintf("first-%d", i))...)
		if err != nil {
			return err
		}
		done := make(chan error, 1)
		go func() { done <- tr.finish(ctx, true, keyed("k", fmt.Sprintf("second-%d", i))...) }()
		select {
		case err := <-done:
			return errors.Join(errors.New("enqueue: a writer of the same key did not wait"), err)
		case <-time.After(blockedFor):
		}
		if err := errors.Join(end(ctx, first, commit), <-done); err != nil {
			return err
		}
	}
	return tr.expectAll(ctx, "first-0", "second-0", "second-1")
}

// keysDoNotDeadlock has writers enqueue the same keys in one call each, in
// opposite orders. A transaction that holds the key in the middle lets all of them get in line
// first: whoever locks in the order of its messages has then locked what others want.
func keysDoNotDeadlock(ctx context.Context, tr *trial) error {
	const writers, rounds, keys = 4, 10, 5
	middle, err := tr.open(ctx, keyed(fmt.Sprintf("key%d", keys/2), "middle")...)
	if err != nil {
		return err
	}
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
	if err := errors.Join(errs...); err != nil {
		return err
	}
	got, err := tr.readAll(ctx)
	if err != nil {
		return err
	}
	if want := 1 + writers*rounds*keys; len(got) != want {
		return fmt.Errorf("read %d records, want %d", len(got), want)
	}
	return expectOrder(got)
}

// earlyTransactionLateKey has a transaction write first, and write the key only
// after another that began later has committed it. Sorted by transaction, the
// key comes out inverted.
func earlyTransactionLateKey(ctx context.Context, tr *trial) error {
	early, err := tr.open(ctx, named("early")...)
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, keyed("k", "k-1")...); err != nil {
		return err
	}
	if err := errors.Join(early.Enqueue(ctx, keyed("k", "k-2")...), early.Commit(ctx)); err != nil {
		return err
	}
	if err := tr.commit(ctx, keyed("k", "k-3")...); err != nil {
		return err
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	if tr.features.OptimisticKeys { // numbers are drawn by Commit
		return r.expectDrain(ctx, 1, "k-1", "early", "k-2", "k-3")
	}
	return r.expectDrain(ctx, 1, "early", "k-1", "k-2", "k-3")
}
