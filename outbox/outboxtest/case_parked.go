package outboxtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// parkKey commits a, b and c of key k, parks a after two failures and lets the
// others wait behind it.
func parkKey(ctx context.Context, tr *trial) (*setAside, error) {
	if err := tr.commit(ctx, keyed("k", "a", "b", "c")...); err != nil {
		return nil, err
	}
	s, err := tr.holder(ctx)
	if err != nil {
		return nil, err
	}
	return s, s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FatePark, Attempts: failed(2), Reason: "tried too often"},
		"b": {Fate: driver.FateWait}, "c": {Fate: driver.FateWait},
	}, "a", "b", "c")
}

func parkedIsNeverDue(ctx context.Context, tr *trial) error {
	s, err := parkKey(ctx, tr)
	if err != nil {
		return err
	}
	if s, err = tr.next(ctx, s); err != nil {
		return err
	}
	if err := s.expectHeld(ctx, testKey("k")); err != nil {
		return err
	}
	if _, err := s.expectDue(ctx); err != nil {
		return fmt.Errorf("while the key is parked: %w", err)
	}
	all, err := s.expectParked(ctx, "a", "b", "c")
	if err != nil {
		return err
	}
	first, second := all[0], all[1]
	if first.Waits || !second.Waits || first.Attempts != 2 || first.Reason != "tried too often" ||
		!slices.Equal(errorsOf(&first), []string{"error 1", "error 2"}) || second.Attempts != 0 {
		return fmt.Errorf("parked: %+v and %+v behind it", first, second)
	}
	// What comes later queues up behind it.
	if err := tr.commit(ctx, keyed("k", "d")...); err != nil {
		return err
	}
	if err := s.hold(ctx, map[string]driver.Holding{"d": {Fate: driver.FateWait}}, "d"); err != nil {
		return err
	}
	if _, err := s.expectDue(ctx); err != nil {
		return fmt.Errorf("while the key is parked: %w", err)
	}
	_, err = s.expectParked(ctx, "a", "b", "c", "d")
	return err
}

func redriveKeepsTheOrder(ctx context.Context, tr *trial) error {
	s, err := parkKey(ctx, tr)
	if err != nil {
		return err
	}
	if err := s.op.redrive(ctx, ofKey(testKey("l"))); err == nil {
		return fmt.Errorf("redrive of a key that is not parked: %w", errNoError)
	}
	if err := s.op.redrive(ctx, ofKey(testKey("k"))); err != nil {
		return fmt.Errorf("redrive: %w", err)
	}
	due, err := s.expectDue(ctx, "a", "b", "c")
	if err != nil {
		return fmt.Errorf("after a redrive: %w", err)
	}
	if due[0].Attempts != 0 {
		return fmt.Errorf("after a redrive: %d attempts, want 0", due[0].Attempts)
	}
	// It fails again, and is parked again: its earlier errors are still known.
	again := driver.Verdict{Fate: driver.FatePark, Attempts: failed(1), Reason: "again"}
	if err := s.resolve(ctx, due, []driver.Verdict{again}); err != nil {
		return err
	}
	if _, err := s.expectDue(ctx); err != nil {
		return fmt.Errorf("parked again: %w", err)
	}
	all, err := s.expectParked(ctx, "a", "b", "c")
	if err != nil {
		return err
	}
	if got := all[0]; len(got.Errors) != 3 || got.Attempts != 1 || got.Reason != "again" {
		return fmt.Errorf("parked again: %+v, want 3 errors, 1 attempt", got)
	}
	if err := s.op.redrive(ctx, admin.Selection{ID: all[0].ID}); err != nil {
		return fmt.Errorf("redrive by id: %w", err)
	}
	if due, err = s.expectDue(ctx, "a", "b", "c"); err != nil {
		return fmt.Errorf("after a redrive by id: %w", err)
	}
	return s.deliver(ctx, due, testKey("k"))
}

// parkedAfterRetries parks the first of a key that was to be tried again.
func parkedAfterRetries(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, keyed("k", "a", "b")...); err != nil {
		return err
	}
	s, err := tr.holder(ctx)
	if err != nil {
		return err
	}
	err = s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FateRetry, Attempts: failed(2)}, "b": {Fate: driver.FateWait},
	}, "a", "b")
	if err != nil {
		return err
	}
	due, err := s.expectDue(ctx, "a", "b")
	if err != nil {
		return err
	}
	// The first is delivered, the one behind it is not: it is the first now.
	fates := []driver.Verdict{{Fate: driver.FateDelivered}, {Fate: driver.FatePark, Attempts: failed(3), Reason: "no"}}
	if err := s.resolve(ctx, due, fates); err != nil {
		return err
	}
	if _, err := s.expectDue(ctx); err != nil {
		return err
	}
	all, err := s.expectParked(ctx, "b")
	if err != nil {
		return err
	}
	if all[0].Attempts != 3 || all[0].Waits {
		return fmt.Errorf("parked: %+v, want 3 attempts", all[0])
	}
	return s.expectHeld(ctx, testKey("k"))
}

// unorderedIsHeldAlone parks one record without a key, holds another, and lets
// the third pass.
func unorderedIsHeldAlone(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, named("a", "b", "c")...); err != nil {
		return err
	}
	s, err := tr.holder(ctx)
	if err != nil {
		return err
	}
	err = s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FatePark, Attempts: failed(1)}, "b": {Fate: driver.FateRetry},
	}, "a", "b", "c")
	if err != nil {
		return err
	}
	if err := s.expectHeld(ctx); err != nil {
		return err
	}
	due, err := s.expectDue(ctx, "b")
	if err != nil {
		return fmt.Errorf("behind a parked record without a key: %w", err)
	}
	if err := s.deliver(ctx, due); err != nil {
		return err
	}
	all, err := s.expectParked(ctx, "a")
	if err != nil {
		return err
	}
	if err := s.op.redrive(ctx, admin.Selection{ID: all[0].ID}); err != nil {
		return fmt.Errorf("redrive by id: %w", err)
	}
	if due, err = s.expectDue(ctx, "a"); err != nil {
		return err
	}
	return s.deliver(ctx, due)
}

// droppedKeyHealsItself drops a key behind the relay's back, which goes on to
// hold its later records.
func droppedKeyHealsItself(ctx context.Context, tr *trial) error {
	s, err := parkKey(ctx, tr)
	if err != nil {
		return err
	}
	if err := s.op.drop(ctx, ofKey(testKey("k"))); err != nil {
		return fmt.Errorf("drop: %w", err)
	}
	if err := s.expectHeld(ctx); err != nil {
		return fmt.Errorf("after a drop: %w", err)
	}
	if err := tr.commit(ctx, keyed("k", "d", "e")...); err != nil {
		return err
	}
	err = s.hold(ctx, map[string]driver.Holding{"d": {Fate: driver.FateWait}, "e": {Fate: driver.FateWait}}, "d", "e")
	if err != nil {
		return err
	}
	due, err := s.expectDue(ctx, "d", "e")
	if err != nil {
		return fmt.Errorf("behind a key that was dropped: %w", err)
	}
	return s.deliver(ctx, due, testKey("k"))
}

func skipHeadGoesOn(ctx context.Context, tr *trial) error {
	s, err := parkKey(ctx, tr)
	if err != nil {
		return err
	}
	if err := s.op.skipHead(ctx, testKey("k")); err != nil {
		return fmt.Errorf("skip the first: %w", err)
	}
	due, err := s.expectDue(ctx, "b", "c")
	if err != nil {
		return fmt.Errorf("after the first was skipped: %w", err)
	}
	if err := s.op.skipHead(ctx, testKey("k")); err == nil {
		return fmt.Errorf("skip of a record that is not parked: %w", errNoError)
	}
	return s.deliver(ctx, due, testKey("k"))
}

// deadAndSkippedGoOn sets the first of each key aside for good, at once and
// after retries.
func deadAndSkippedGoOn(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, append(keyed("k", "a", "b", "c"), keyed("l", "x", "y", "z")...)...); err != nil {
		return err
	}
	s, err := tr.holder(ctx)
	if err != nil {
		return err
	}
	err = s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FateDead, Attempts: failed(2), Reason: "too large"}, "b": {Fate: driver.FateRetry}, "c": {Fate: driver.FateWait},
		"x": {Fate: driver.FateSkip, Reason: "not wanted"}, "y": {Fate: driver.FateRetry}, "z": {Fate: driver.FateWait},
	}, "a", "b", "c", "x", "y", "z")
	if err != nil {
		return err
	}
	dead, err := s.expectDead(ctx, "a")
	if err != nil {
		return err
	}
	if got := dead[0]; got.Reason != "too large" || len(got.Errors) != 2 {
		return fmt.Errorf("dead: %+v", got)
	}
	due, err := s.expectDue(ctx, "b", "c", "y", "z")
	if err != nil {
		return fmt.Errorf("behind a dead record and a skipped one: %w", err)
	}
	y := due[2]
	err = s.resolve(ctx, []driver.Held{due[0], y}, []driver.Verdict{
		{Fate: driver.FateDead, Attempts: failed(1), Reason: "no"}, {Fate: driver.FateSkip, Reason: "no"},
	})
	if err != nil {
		return err
	}
	if due, err = s.expectDue(ctx, "c", "z"); err != nil {
		return fmt.Errorf("behind a dead record and a skipped one: %w", err)
	}
	if _, err := s.expectDead(ctx, "a", "b"); err != nil {
		return err
	}
	skipped, err := s.op.skipped(ctx)
	if err != nil {
		return err
	}
	if len(skipped) != 2 || skipped[1] != y.ID {
		return fmt.Errorf("skipped: %v, want that of x and %s", skipped, y.ID)
	}
	return s.deliver(ctx, due, testKey("k"), testKey("l"))
}
