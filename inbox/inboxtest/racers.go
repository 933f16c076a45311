package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
)

// Collider is a Subject whose messages may share a lock although their ids differ: while
// one is in progress, the other is Busy.
type Collider interface {
	Subject

	// ShareLock reports whether messages with two ids share a lock.
	ShareLock(consumer, id, other string) bool
}

// collide returns another id whose message shares the lock of the one called id.
func collide(c Collider, id string) string {
	for i := 0; ; i++ {
		if other := "other" + strconv.Itoa(i); c.ShareLock(consumer, id, other) {
			return other
		}
	}
}

// racerChecks are about deliveries that contend for the database's locks, and about traces of
// failed claims.
func racerChecks() []Check {
	return []Check{
		{Name: "I5_RacersAfterARollback", run: checkRacers, skip: nobodyIsBusy},
		{Name: "I5_FailedClaimsHoldNothing", run: checkFailedClaims},
		{Name: "I1_IDsThatShareALockAreKeptApart", run: checkCollision, skip: noSharedLocks},
		{Name: "I3_NotAckedWhileAnotherWrites", run: checkNotAckedMeanwhile, skip: optimistic},
	}
}

// checkRacers has three deliveries of one message at once. The first is rolled back. While it
// runs the others must get Busy and nothing else: if they waited for it in an index, two of them
// would deadlock with its rollback.
func checkRacers(ctx context.Context, s Subject) {
	const rounds = 10

	p, err := s.Open(consumer, inbox.Config{BusyDelay: inbox.NoDelay, ConflictRetries: -1})
	fail.If(err)
	var want []string
	for i := range rounds {
		id := "m" + strconv.Itoa(i)
		want = append(want, id)
		fail.IfAny(race(ctx, s, p, id), untilAcked(ctx, p, id, writing(s, id)))
	}
	fail.If(wantEffects(ctx, s, want...))
}

func race(ctx context.Context, s Subject, p inbox.Runner, id string) error {
	var (
		group  sync.WaitGroup
		losers [2]error
	)
	lose := func(ctx context.Context) error {
		return wantOutcome(ctx, p, id, inbox.OutcomeBusy, inbox.ErrBusy, writing(s, "never"))
	}
	err := wantOutcome(ctx, p, id, inbox.OutcomeFailed, errHandler, func(context.Context) error {
		losing, cancel := context.WithTimeout(ctx, promptly)
		defer cancel()
		for i := range losers {
			group.Go(func() { losers[i] = lose(losing) })
		}
		group.Wait()
		return errHandler
	})
	return errors.Join(err, losers[0], losers[1])
}

// checkFailedClaims makes claims fail by contexts that end in the middle of them, more often than
// there are connections. Then all connections must be available, and in no transaction.
func checkFailedClaims(ctx context.Context, s Subject) {
	p := open(s)
	fail.If(untilAcked(ctx, p, "before", writing(s, "before")))
	for i := range 10 * Connections {
		ended, cancel := context.WithTimeout(ctx, time.Duration(i)*50*time.Microsecond)
		_, err := deliver(ended, p, newMessage(ended, "a"), func(context.Context) error { return errHandler })
		cancel()
		if err == nil {
			fail.With("a message whose handler fails is acked")
		}
	}
	want := []string{"before"}
	working, done := context.WithTimeout(ctx, 2*promptly)
	defer done()
	for i := range 2 * Connections {
		id := "after" + strconv.Itoa(i)
		want = append(want, id)
		fail.If(untilAcked(working, p, id, writing(s, id)))
	}
	err := untilAcked(working, p, "a", writing(s, "a"))
	fail.IfAny(err, wantEffects(ctx, s, append(want, "a")...))
}

// checkCollision delivers a message while another that shares its lock is in progress. The
// message must still run, by a redelivery at the latest, and must not count as a duplicate.
func checkCollision(ctx context.Context, s Subject) {
	collider, ok := s.(Collider)
	if !ok {
		fail.With("%w: Collider", ErrLacks)
	}
	p := open(s)
	other := collide(collider, "a")
	for _, result := range []error{errHandler, nil} {
		var found error
		_, err := deliver(ctx, p, newMessage(ctx, "a"), func(txCtx context.Context) error {
			meanwhile, cancel := context.WithTimeout(ctx, promptly)
			defer cancel()
			msg := newMessage(meanwhile, other)
			outcome, err := deliver(meanwhile, p, msg, func(context.Context) error { return errHandler })
			if acked(msg) || outcome == inbox.OutcomeDuplicate {
				found = fmt.Errorf("acked %t, outcome %s, error %w", acked(msg), outcome, orNone(err))
			}
			return errors.Join(s.Write(txCtx, "a"), result)
		})
		fail.If(found)
		if !errors.Is(err, result) {
			fail.With("error %w, want %w", orNone(err), orNone(result))
		}
	}
	fail.IfAny(
		untilAcked(ctx, p, other, writing(s, "other")),
		wantOutcome(ctx, p, other, inbox.OutcomeDuplicate, nil, writing(s, "again")),
		wantOutcome(ctx, p, "a", inbox.OutcomeDuplicate, nil, writing(s, "again")),
		wantEffects(ctx, s, "a", "other"),
	)
}

// checkNotAckedMeanwhile delivers a copy and another message while a handler runs. A store with
// one writer may fail both, for lack of time, but must not ack either unless its effect is
// committed; afterwards both are processed.
func checkNotAckedMeanwhile(ctx context.Context, s Subject) {
	p := open(s)
	err := probe(ctx, s, p, "a", func() error {
		meanwhile, cancel := context.WithTimeout(ctx, promptly)
		defer cancel()
		duplicate, other := newMessage(meanwhile, "a"), newMessage(meanwhile, "b")
		_, err1 := deliver(meanwhile, p, duplicate, writing(s, "never"))
		_, err2 := deliver(meanwhile, p, other, writing(s, "b"))
		if acked(duplicate) {
			return fmt.Errorf("a copy is acked while the first delivery runs (error %w)", orNone(err1))
		}
		if !acked(other) {
			return wantEffects(ctx, s)
		}
		return errors.Join(err2, wantEffects(ctx, s, "b"))
	})
	fail.IfAny(
		err,
		untilAcked(ctx, p, "b", writing(s, "b")),
		wantOutcome(ctx, p, "a", inbox.OutcomeDuplicate, nil, writing(s, "again")),
		wantEffects(ctx, s, "a", "b"),
	)
}
