package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/fail"
)

// PositionProcessor is an inbox that remembers positions instead of ids.
type PositionProcessor interface {
	inbox.Runner
	driver.Assigner
}

// PositionSubject is such an inbox under test with something to write in: empty when a
// check gets it, and used by that check alone. Its methods are safe for concurrent use.
type PositionSubject interface {
	// Open returns an inbox for these topics, as another process would open it: all share the
	// stored data.
	Open(consumer string, topics []string, cfg inbox.Config) (PositionProcessor, error)

	// Write stores effect in the transaction that ctx carries, in a place that accepts
	// the same effect any number of times.
	Write(ctx context.Context, effect string) error

	// Effects returns the effects that are committed, in any order.
	Effects(ctx context.Context) ([]string, error)
}

// PositionForgetter is implemented by a PositionSubject that can go back in time, like a database
// after a failover to a server that did not have the last commits. Without it, Features.NoLoss is
// set.
type PositionForgetter interface {
	// Forget sets the next offset of every partition to next, and the effects to the given ones.
	Forget(ctx context.Context, next int64, effects ...string) error
}

// positionCheck is one case of the suite of inboxes that remember positions.
type positionCheck struct {
	// Name starts with the invariant that the check is about.
	Name string

	run  func(ctx context.Context, s PositionSubject) // fails by package fail
	skip func(f Features) bool                        // nil: the check is never skipped
}

// Run runs the check on s, which no other check may have used, and returns what is wrong
// with it. It is bounded by ctx and by a minute.
func (c positionCheck) Run(ctx context.Context, s PositionSubject) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := fail.Caught(func() { c.run(ctx, s) }); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return nil
}

// RunPositions runs every check of positions that f does not rule out, in parallel, each on a new
// subject. It logs a table of what is checked, as Claims does.
func RunPositions(t *testing.T, f Features, newSubject func(t *testing.T) PositionSubject) {
	t.Helper()
	runClaims(t, func(t *testing.T) (string, error) {
		t.Helper()
		return positionClaims(t.Context(), f, newSubject(t))
	})
	for _, c := range positionChecks(f) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if err := c.Run(t.Context(), newSubject(t)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// positionChecks returns the checks that RunPositions runs.
func positionChecks(f Features) []positionCheck {
	all := []positionCheck{
		{Name: "I8_EachPositionTakesEffectOnce", run: checkPositionOnce},
		{Name: "I8_FailureMovesNothing", run: checkPositionFailure},
		{Name: "I8_GapIsNeverAcked", run: checkPositionGap},
		{Name: "I8_NothingIsReadThatWasProcessed", run: checkPositionAssigned},
		{Name: "I8_ZombieCommitsNothing", run: checkPositionZombie},
		{Name: "I8_ManySessionsOfOnePartition", run: checkPositionStorm},
		{Name: "I8_PartitionsAndConsumersAreIndependent", run: checkPositionPartitions},
		{Name: "I8_UnsoundSessionsAreRefused", run: checkPositionUnsound},
		{Name: "I8_UnsoundAssignmentsChangeNothing", run: checkPositionAssignments},
		{Name: "I8_FailoverThatForgotIsAGap", run: checkPositionForgotten, skip: noLoss},
	}
	all = append(all, positionGroundChecks()...)
	return slices.DeleteFunc(all, func(c positionCheck) bool { return c.skip != nil && c.skip(f) })
}

const (
	readTopic  = "events"
	readSource = "6b0f3a52-7c1d-4e8e-9a44-5d2f0c7b1e90"
	madeAgain  = "0d9c1b7e-52a4-4f0b-8f5e-3b1a6c2d4e5f" // the same topic, created again
)

// openLog opens an inbox of readTopic that does not keep the suite waiting.
func openLog(s PositionSubject, consumer string) PositionProcessor {
	in, err := s.Open(consumer, []string{readTopic}, inbox.Config{
		BusyDelay: 2 * time.Millisecond, OnFailure: inbox.Policy{Delay: inbox.NoDelay},
	})
	fail.If(err)
	return in
}

// wholeLog assigns partition 0 of a log that still has all of count messages.
func wholeLog(count int64) driver.Assignment {
	return driver.Assignment{Source: readSource, Topic: readTopic, End: count}
}

// inLog is the position of offset in a session without gaps.
func inLog(offset int64) driver.Position {
	return driver.Position{Source: readSource, Topic: readTopic, Offset: offset, Prev: offset - 1, Serial: true}
}

// processAt processes the message at p once.
func processAt(
	ctx context.Context, in inbox.Runner, p driver.Position, handle func(ctx context.Context) error,
) (inbox.Outcome, error) {
	ctx = driver.WithPosition(ctx, p)
	return deliver(ctx, in, message.NewMessageWithContext(ctx, "", nil), handle)
}

// effectOf is the effect of the message at offset.
func effectOf(offset int64) string { return fmt.Sprintf("effect %d", offset) }

func writingAt(s PositionSubject, p driver.Position) func(ctx context.Context) error {
	return func(ctx context.Context) error { return s.Write(ctx, effectOf(p.Offset)) }
}

// wantAt processes the message at p once and compares.
func wantAt(
	ctx context.Context, s PositionSubject, in inbox.Runner, p driver.Position, want inbox.Outcome, wantErr error,
) error {
	outcome, err := processAt(ctx, in, p, writingAt(s, p))
	if outcome != want || !isOrNil(err, wantErr) {
		return fmt.Errorf("offset %d after %d: outcome %s, error %w; want %s, %w", p.Offset, p.Prev, outcome, orNone(err), want, orNone(wantErr))
	}
	return nil
}

// wantNext asks where to continue and compares.
func wantNext(ctx context.Context, in driver.Assigner, a driver.Assignment, want int64) error {
	next, err := in.Assigned(ctx, []driver.Assignment{a})
	switch {
	case err != nil:
		return fmt.Errorf("assigned: %w", err)
	case len(next) != 1 || next[0] != want:
		return fmt.Errorf("assigned: to be read on at %v, want %d", next, want)
	}
	return nil
}

// wantEffectsTo expects the effects of the messages before offset, once each.
func wantEffectsTo(ctx context.Context, s PositionSubject, offset int64) error {
	want := make([]string, offset)
	for i := range offset {
		want[i] = effectOf(i)
	}
	return wantEffects(ctx, s, want...)
}

// session reads from the offset that the inbox returns up to count. It delivers each message
// until it is acked, or until stop returns true, which ends the session.
func session(
	ctx context.Context, s PositionSubject, in PositionProcessor, count int64, stop, fails func() bool,
) (done bool, err error) {
	next, err := in.Assigned(ctx, []driver.Assignment{wholeLog(count)})
	if errors.Is(err, inbox.ErrBusy) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for offset := next[0]; offset < count; {
		if stop() {
			return false, nil
		}
		p := inLog(offset)
		_, err := processAt(ctx, in, p, func(ctx context.Context) error {
			if err := s.Write(ctx, effectOf(offset)); err != nil || !fails() {
				return err
			}
			return errHandler
		})
		switch {
		case err == nil:
			offset++
		case errors.Is(err, driver.ErrGap):
			return false, err
		case ctx.Err() != nil:
			return false, errors.Join(err, ctx.Err())
		}
	}
	return true, nil
}
