package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

func heldChecks() []Check {
	all := []Check{
		{Name: "O2_HoldStoresThePosition", run: holdStoresThePosition},
		{Name: "O2_HoldTwiceIsHoldOnce", run: holdTwiceIsHoldOnce},
		{Name: "O4_HeldCopiesAreIdentical", run: heldCopiesAreIdentical},
		{Name: "O6_FollowersWait", run: followersWait},
		{Name: "O6_RetryWaitsItsTime", run: retryWaitsItsTime},
		{Name: "O6_ParkedIsNeverDue", run: parkedIsNeverDue},
		{Name: "O6_RedriveKeepsTheOrder", run: redriveKeepsTheOrder},
		{Name: "O6_ParkedAfterRetries", run: parkedAfterRetries},
		{Name: "O6_KeysAreBytes", run: keysAreBytes},
		{Name: "O6_UnorderedIsHeldAlone", run: unorderedIsHeldAlone},
		{Name: "O6_DroppedKeyHealsItself", run: droppedKeyHealsItself},
		{Name: "O6_SkipHeadGoesOn", run: skipHeadGoesOn},
		{Name: "O6_SkipHeadSparesOthers", run: skipHeadSparesOthers},
		{Name: "O6_DeadAndSkippedGoOn", run: deadAndSkippedGoOn},
		{Name: "O8_TopicsThatAreOutAreNotDue", run: topicsThatAreOutAreNotDue},
		{Name: "O9_StaleEpochHoldsNothing", run: staleEpochHoldsNothing},
		{Name: "O9_StaleEpochResolvesNothing", run: staleEpochResolvesNothing},
	}
	for i := range all {
		all[i].skip = func(f Features) bool { return f.NoHolder }
	}
	return all
}

// holdStoresThePosition holds a part of a page; the next session, after a crash,
// reads the rest and only that.
func holdStoresThePosition(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, append(keyed("k", "a"), named("b", "c", "d")...)...); err != nil {
		return err
	}
	s, err := tr.holder(ctx)
	if err != nil {
		return err
	}
	p, err := s.reader.expectPage(ctx, 10, "a", "b", "c", "d")
	if err != nil {
		return err
	}
	if err := s.Hold(ctx, p, 2, []driver.Holding{{Index: 0, Fate: driver.FatePark}}); err != nil {
		return err
	}
	if s, err = tr.next(ctx, s); err != nil {
		return err
	}
	if err := s.reader.expectDrain(ctx, 10, "c", "d"); err != nil {
		return fmt.Errorf("after a hold of two records and a crash: %w", err)
	}
	if err := s.expectHeld(ctx, testKey("k")); err != nil {
		return err
	}
	_, err = s.expectParked(ctx, "a")
	return err
}

// holdTwiceIsHoldOnce repeats a call as after a lost answer, before and after
// what it has held was dealt with.
func holdTwiceIsHoldOnce(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, append(keyed("k", "a", "b"), named("c", "d", "e")...)...); err != nil {
		return err
	}
	s, err := tr.holder(ctx)
	if err != nil {
		return err
	}
	p, err := s.reader.expectPage(ctx, 10, "a", "b", "c", "d", "e")
	if err != nil {
		return err
	}
	h := holdings(p, map[string]driver.Holding{
		"a": {Fate: driver.FateRetry, Attempts: failed(2)}, "b": {Fate: driver.FateWait},
		"c": {Fate: driver.FateDead}, "d": {Fate: driver.FateSkip},
	})
	for range 2 {
		if err := s.Hold(ctx, p, 5, h); err != nil {
			return fmt.Errorf("hold: %w", err)
		}
	}
	due, err := s.expectDue(ctx, "a", "b")
	if err != nil {
		return err
	}
	if due[0].Attempts != 2 {
		return fmt.Errorf("held twice with 2 attempts: %d attempts", due[0].Attempts)
	}
	if err := s.deliver(ctx, due, testKey("k")); err != nil {
		return err
	}
	if err := s.Hold(ctx, p, 5, h); err != nil {
		return fmt.Errorf("hold: %w", err)
	}
	if _, err = s.expectDue(ctx); err != nil {
		return fmt.Errorf("held again after it was delivered: %w", err)
	}
	if _, err = s.expectDead(ctx, "c"); err != nil {
		return err
	}
	return s.reader.expectDrain(ctx, 10)
}

func heldCopiesAreIdentical(ctx context.Context, tr *trial) error {
	want := tricky()
	if err := tr.commit(ctx, want...); err != nil {
		return err
	}
	s, err := tr.holder(ctx)
	if err != nil {
		return err
	}
	p, err := s.reader.page(ctx, 100)
	if err != nil {
		return err
	}
	original := slices.Clone(p.Records)
	var all []driver.Holding
	for i := range p.Records {
		all = append(all, driver.Holding{Index: i, Fate: driver.FateRetry})
	}
	if err := s.Hold(ctx, p, len(p.Records), all); err != nil {
		return fmt.Errorf("hold: %w", err)
	}
	if s, err = tr.next(ctx, s); err != nil {
		return err
	}
	due, err := s.Due(ctx, 100, nil)
	if err != nil {
		return err
	}
	got := recordsOf(due)
	if err := sameAsEnqueued(got, want); err != nil {
		return err
	}
	for i := range got {
		if err := sameRecord(&original[i], &got[i]); err != nil {
			return fmt.Errorf("record %q: the log's copy and the held one differ: %w", got[i].ID, err)
		}
	}
	return nil
}

// followersWait holds a key behind its first record, delivers that, and then the
// rest; other keys are none of its business.
func followersWait(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, append(keyed("k", "a", "b", "c"), keyed("l", "x")...)...); err != nil {
		return err
	}
	s, err := tr.holder(ctx)
	if err != nil {
		return err
	}
	err = s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FateRetry}, "b": {Fate: driver.FateWait}, "c": {Fate: driver.FateWait},
	}, "a", "b", "c", "x")
	if err != nil {
		return err
	}
	if err := s.expectHeld(ctx, testKey("k")); err != nil {
		return err
	}
	due, err := s.expectDue(ctx, "a", "b", "c")
	if err != nil {
		return err
	}
	short, err := s.Due(ctx, 2, nil)
	if err = errors.Join(err, expect(recordsOf(short), "a", "b")); err != nil {
		return fmt.Errorf("due, at most two: %w", err)
	}
	if err := s.deliver(ctx, due[:1]); err != nil {
		return fmt.Errorf("the first of three delivered: %w", err)
	}
	if s, err = tr.next(ctx, s); err != nil {
		return err
	}
	if due, err = s.expectDue(ctx, "b", "c"); err != nil {
		return fmt.Errorf("the first of three delivered: %w", err)
	}
	if err := s.deliver(ctx, due, testKey("k")); err != nil {
		return err
	}
	if err := s.expectHeld(ctx); err != nil {
		return err
	}
	return s.reader.expectDrain(ctx, 10)
}

func retryWaitsItsTime(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, append(keyed("k", "a", "b"), keyed("l", "c")...)...); err != nil {
		return err
	}
	s, err := tr.holder(ctx)
	if err != nil {
		return err
	}
	err = s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FateRetry, Attempts: failed(2), RetryIn: time.Hour},
		"b": {Fate: driver.FateWait},
		"c": {Fate: driver.FateRetry, Attempts: failed(2)},
	}, "a", "b", "c")
	if err != nil {
		return err
	}
	due, err := s.expectDue(ctx, "c")
	if err != nil {
		return fmt.Errorf("one is to be tried in an hour, with one behind it: %w", err)
	}
	if due[0].Attempts != 2 {
		return fmt.Errorf("due: %d attempts, want 2", due[0].Attempts)
	}
	err = s.resolve(ctx, due, []driver.Verdict{{Fate: driver.FateRetry, Attempts: failed(1), RetryIn: 50 * time.Millisecond}})
	if err != nil {
		return err
	}
	for {
		due, err := s.Due(ctx, 10, nil)
		if err != nil {
			return fmt.Errorf("to be tried in 50 ms: %w", err)
		}
		if len(due) > 0 {
			if due[0].Attempts != 3 {
				return fmt.Errorf("due: %d attempts, want 2 and 1", due[0].Attempts)
			}
			return expect(recordsOf(due), "c")
		}
		_ = wait.For(ctx, 5*time.Millisecond) // the next round sees the error
	}
}

// topicsThatAreOutAreNotDue holds two topics.
func topicsThatAreOutAreNotDue(ctx context.Context, tr *trial) error {
	other := outbox.Message{Topic: "other", Key: "k", Payload: []byte("o")}
	if err := tr.commit(ctx, append(keyed("k", "a", "b"), other)...); err != nil {
		return err
	}
	s, err := tr.holder(ctx)
	if err != nil {
		return err
	}
	err = s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FateRetry}, "b": {Fate: driver.FateWait}, "o": {Fate: driver.FateRetry},
	}, "a", "b", "o")
	if err != nil {
		return err
	}
	if _, err := s.expectDueExcept(ctx, []string{testTopic, "third"}, "o"); err != nil {
		return err
	}
	due, err := s.expectDue(ctx, "a", "b", "o")
	if err != nil {
		return err
	}
	if due[0].Attempts != 0 {
		return fmt.Errorf("due: %d attempts of an outage, want 0", due[0].Attempts)
	}
	return s.expectHeld(ctx, testKey("k"), driver.Key{Topic: "other", Key: "k"})
}

func staleEpochHoldsNothing(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, append(keyed("k", "a", "b"), named("c")...)...); err != nil {
		return err
	}
	s, err := tr.holder(ctx)
	if err != nil {
		return err
	}
	p, err := s.reader.expectPage(ctx, 10, "a", "b", "c")
	if err != nil {
		return err
	}
	next, err := tr.next(ctx, s)
	if err != nil {
		return err
	}
	h := holdings(p, map[string]driver.Holding{"a": {Fate: driver.FatePark}, "b": {Fate: driver.FateWait}, "c": {Fate: driver.FateDead}})
	if err := s.Hold(ctx, p, 3, h); !errors.Is(err, driver.ErrLeaseLost) {
		return unexpected("hold under a lost lease", err, driver.ErrLeaseLost)
	}
	if _, err := next.expectParked(ctx); err != nil {
		return fmt.Errorf("after a hold under a lost lease: %w", err)
	}
	if _, err := next.expectDead(ctx); err != nil {
		return fmt.Errorf("after a hold under a lost lease: %w", err)
	}
	return next.reader.expectDrain(ctx, 10, "a", "b", "c")
}

func staleEpochResolvesNothing(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, keyed("k", "a", "b")...); err != nil {
		return err
	}
	s, err := tr.holder(ctx)
	if err != nil {
		return err
	}
	err = s.hold(ctx, map[string]driver.Holding{"a": {Fate: driver.FateRetry}, "b": {Fate: driver.FateWait}}, "a", "b")
	if err != nil {
		return err
	}
	due, err := s.expectDue(ctx, "a", "b")
	if err != nil {
		return err
	}
	next, err := tr.next(ctx, s)
	if err != nil {
		return err
	}
	for _, fate := range []driver.Fate{driver.FatePark, driver.FateDead, driver.FateSkip, driver.FateDelivered, driver.FateRetry} {
		v := driver.Verdict{Record: &due[0].Record, Fate: fate, Attempts: failed(1), RetryIn: time.Hour}
		if _, err := s.Resolve(ctx, []driver.Verdict{v}); !errors.Is(err, driver.ErrLeaseLost) {
			return unexpected("resolve under a lost lease as "+fate.String(), err, driver.ErrLeaseLost)
		}
	}
	if due, err = next.expectDue(ctx, "a", "b"); err != nil {
		return fmt.Errorf("after a resolve under a lost lease: %w", err)
	}
	if due[0].Attempts != 0 {
		return fmt.Errorf("after a resolve under a lost lease: %d attempts, want 0", due[0].Attempts)
	}
	return nil
}
