package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/fail"
)

// checkPositionOnce delivers every message twice, and then all of them again.
func checkPositionOnce(ctx context.Context, s PositionSubject) {
	const count = 5
	in := openLog(s, consumer)
	err := wantNext(ctx, in, wholeLog(count), 0)
	for offset := range int64(count) {
		err = errors.Join(
			err,
			wantAt(ctx, s, in, inLog(offset), inbox.OutcomeCommitted, nil),
			wantAt(ctx, s, in, inLog(offset), inbox.OutcomeDuplicate, nil),
		)
	}
	for offset := range int64(count) {
		err = errors.Join(err, wantAt(ctx, s, in, inLog(offset), inbox.OutcomeDuplicate, nil))
	}
	fail.IfAny(err, wantEffectsTo(ctx, s, count))
}

// checkPositionFailure fails a handler that has written.
func checkPositionFailure(ctx context.Context, s PositionSubject) {
	in := openLog(s, consumer)
	fail.If(wantNext(ctx, in, wholeLog(2), 0))
	for range 2 {
		outcome, err := processAt(ctx, in, inLog(0), func(ctx context.Context) error {
			return errors.Join(s.Write(ctx, "never"), errHandler)
		})
		if outcome != inbox.OutcomeFailed || !errors.Is(err, errHandler) {
			fail.With("outcome %s, error %w; want failed, %w", outcome, orNone(err), errHandler)
		}
		fail.If(errors.Join(wantEffects(ctx, s), wantNext(ctx, in, wholeLog(2), 0)), "after a handler has failed")
	}
	fail.IfAny(
		wantAt(ctx, s, in, inLog(0), inbox.OutcomeCommitted, nil),
		wantNext(ctx, in, wholeLog(2), 1), wantEffectsTo(ctx, s, 1),
	)
}

// checkPositionGap delivers a message although the one before was not processed.
func checkPositionGap(ctx context.Context, s PositionSubject) {
	in := openLog(s, consumer)
	a := wholeLog(9)
	a.Start, a.From = 1, 3
	fail.If(wantNext(ctx, in, a, 3))
	if _, err := processAt(ctx, in, inLog(3), func(context.Context) error { return errHandler }); !errors.Is(err, errHandler) {
		fail.With("error %w, want %w", orNone(err), errHandler)
	}
	for range 2 {
		outcome, err := processAt(ctx, in, inLog(4), writingAt(s, inLog(4)))
		gap, ok := errors.AsType[*driver.GapError](err)
		if !ok || outcome != inbox.OutcomeFailed || !errors.Is(err, inbox.ErrNotClaimed) || inbox.ShouldPoison(err) || gap.Next != 3 || gap.Position != inLog(4) {
			fail.With("offset 4, before which 3 was not processed: outcome %s, error %w; want failed, %w, next 3", outcome, orNone(err), driver.ErrGap)
		}
	}
	sparse := inLog(7) // offsets without messages between two are not a gap
	sparse.Prev = 3
	fail.IfAny(
		wantEffects(ctx, s),
		wantAt(ctx, s, in, inLog(3), inbox.OutcomeCommitted, nil),
		wantAt(ctx, s, in, sparse, inbox.OutcomeCommitted, nil),
		wantAt(ctx, s, in, inLog(5), inbox.OutcomeDuplicate, nil),
		wantNext(ctx, in, a, 8),
		wantEffects(ctx, s, effectOf(3), effectOf(7)),
	)
}

// checkPositionAssigned asks several times, in several processes.
func checkPositionAssigned(ctx context.Context, s PositionSubject) {
	first, second := openLog(s, consumer), openLog(s, consumer)
	fresh, known := wholeLog(10), wholeLog(10)
	fresh.From, known.From = 4, 0
	fail.IfAny(
		wantNext(ctx, first, fresh, 4),
		wantNext(ctx, second, known, 4), // the group's committed offset does not count any more
		wantAt(ctx, s, first, inLog(4), inbox.OutcomeCommitted, nil),
		wantNext(ctx, second, known, 5),
		wantAt(ctx, s, second, inLog(5), inbox.OutcomeCommitted, nil),
		wantNext(ctx, first, fresh, 6),
		wantEffects(ctx, s, effectOf(4), effectOf(5)),
	)
}

// checkPositionZombie has two sessions deliver the same message. While one runs it, it is
// Busy for the other; afterwards it is a duplicate.
func checkPositionZombie(ctx context.Context, s PositionSubject) {
	zombie, rightful := openLog(s, consumer), openLog(s, consumer)
	fail.If(wantNext(ctx, zombie, wholeLog(2), 0))
	var found error
	_, err := processAt(ctx, zombie, inLog(0), func(context.Context) error {
		found = errors.Join(
			wantNext(ctx, rightful, wholeLog(2), 0), // an assignment waits for no handler
			wantAt(ctx, s, rightful, inLog(0), inbox.OutcomeBusy, inbox.ErrBusy),
		)
		return errHandler
	})
	if found != nil || !errors.Is(err, errHandler) {
		fail.IfAny(found, fmt.Errorf("error %w, want %w", orNone(err), errHandler))
	}
	for _, p := range []driver.Position{inLog(0), inLog(1)} {
		found = errors.Join(
			found,
			wantAt(ctx, s, rightful, p, inbox.OutcomeCommitted, nil),
			wantAt(ctx, s, zombie, p, inbox.OutcomeDuplicate, nil),
		)
	}
	fail.IfAny(found, wantEffectsTo(ctx, s, 2))
}

// checkPositionStorm runs several sessions that all believe that they own the partition, with
// handlers that fail and sessions that end at any time.
func checkPositionStorm(ctx context.Context, s PositionSubject) {
	const count, sessions = 40, 4
	var group sync.WaitGroup
	errs := make([]error, sessions)
	for i := range sessions {
		in := openLog(s, consumer)
		group.Go(func() {
			runs := 0
			fails := func() bool { runs++; return runs%4 == 0 }
			for done := false; !done && errs[i] == nil; {
				left := 1 + rand.IntN(20) //nolint:gosec // a test's dice, no secret
				done, errs[i] = session(ctx, s, in, count, func() bool { left--; return left < 0 }, fails)
			}
		})
	}
	group.Wait()
	fail.IfAny(errors.Join(errs...), wantEffectsTo(ctx, s, count))
}

// checkPositionPartitions has the same offset in two partitions and for two consumers.
func checkPositionPartitions(ctx context.Context, s PositionSubject) {
	in, other := openLog(s, consumer), openLog(s, "another")
	first, second := wholeLog(3), wholeLog(3)
	second.Partition = 1
	next, err := in.Assigned(ctx, []driver.Assignment{second, first})
	if err != nil || len(next) != 2 {
		fail.With("assigned of two partitions: %v, %w", next, orNone(err))
	}
	there := inLog(0)
	there.Partition = 1
	fail.IfAny(
		wantAt(ctx, s, in, inLog(0), inbox.OutcomeCommitted, nil),
		wantAt(ctx, s, in, inLog(1), inbox.OutcomeCommitted, nil),
		wantAt(ctx, s, in, there, inbox.OutcomeCommitted, nil),
		wantNext(ctx, in, first, 2), wantNext(ctx, in, second, 1),
		wantNext(ctx, other, first, 0),
		wantAt(ctx, s, other, inLog(0), inbox.OutcomeCommitted, nil),
		wantNext(ctx, in, first, 2),
		wantEffects(ctx, s, effectOf(0), effectOf(0), effectOf(0), effectOf(1)),
	)
}

// checkPositionUnsound checks the error of each refusal of a message. None runs the handler.
func checkPositionUnsound(ctx context.Context, s PositionSubject) {
	in := openLog(s, consumer)
	fail.If(wantNext(ctx, in, wholeLog(1), 0))
	never := func(ctx context.Context) error { return s.Write(ctx, "never") }
	if _, err := in.Process(ctx, message.NewMessageWithContext(ctx, "id", nil), never); !errors.Is(err, driver.ErrNoPosition) {
		fail.With("no position: error %w, want %w", orNone(err), driver.ErrNoPosition)
	}
	for what, c := range map[string]struct {
		change func(p *driver.Position)
		want   error
	}{
		"parallel":        {func(p *driver.Position) { p.Serial = false }, driver.ErrNotSerial},
		"retry topic":     {func(p *driver.Position) { p.Topic = "events-retry" }, driver.ErrWrongTopic},
		"no source":       {func(p *driver.Position) { p.Source = "" }, driver.ErrNoPosition},
		"zero source":     {func(p *driver.Position) { p.Source = "00000000-0000-0000-0000-000000000000" }, driver.ErrNoPosition},
		"bad partition":   {func(p *driver.Position) { p.Partition = -1 }, driver.ErrNoPosition},
		"bad offset":      {func(p *driver.Position) { p.Offset, p.Prev = -1, -1 }, driver.ErrNoPosition},
		"bad predecessor": {func(p *driver.Position) { p.Prev = 0 }, driver.ErrNoPosition},
		"other partition": {func(p *driver.Position) { p.Partition = 1 }, driver.ErrNotAssigned},
	} {
		p := inLog(0)
		c.change(&p)
		outcome, err := processAt(ctx, in, p, never)
		if outcome != inbox.OutcomeFailed || !errors.Is(err, c.want) || !errors.Is(err, inbox.ErrNotClaimed) {
			fail.With("%s: outcome %s, error %w; want failed, %w and %w", what, outcome, orNone(err), c.want, inbox.ErrNotClaimed)
		}
	}
	fail.IfAny(wantEffects(ctx, s), wantNext(ctx, in, wholeLog(1), 0))
}

// checkPositionAssignments expects an assignment of two partitions, only one of them sound, to be refused.
func checkPositionAssignments(ctx context.Context, s PositionSubject) {
	in := openLog(s, consumer)
	fail.IfAny(wantNext(ctx, in, wholeLog(3), 0), wantAt(ctx, s, in, inLog(0), inbox.OutcomeCommitted, nil))
	sound := wholeLog(9)
	sound.Partition, sound.From = 1, 7
	for what, c := range map[string]struct {
		change func(a *driver.Assignment)
		want   error
	}{
		"wrong topic":      {func(a *driver.Assignment) { a.Topic = "events-retry" }, driver.ErrWrongTopic},
		"end before start": {func(a *driver.Assignment) { a.Start, a.End = 2, 1 }, driver.ErrNoPosition},
	} {
		bad := wholeLog(3)
		c.change(&bad)
		if _, err := in.Assigned(ctx, []driver.Assignment{sound, bad}); !errors.Is(err, c.want) {
			fail.With("%s: error %w, want %w", what, orNone(err), c.want)
		}
	}
	sound.From = 2 // the inbox does not know the partition yet
	fail.IfAny(wantNext(ctx, in, sound, 2), wantNext(ctx, in, wholeLog(3), 1))
}

// checkPositionForgotten has the database forget commits while a session goes on: it finds
// out, and the messages are read again.
func checkPositionForgotten(ctx context.Context, s PositionSubject) {
	const count = 8
	forgetter, ok := s.(PositionForgetter)
	if !ok {
		fail.With("%w: PositionForgetter", ErrLacks)
	}
	in := openLog(s, consumer)
	err := wantNext(ctx, in, wholeLog(count), 0)
	for offset := range int64(5) {
		err = errors.Join(err, wantAt(ctx, s, in, inLog(offset), inbox.OutcomeCommitted, nil))
	}
	fail.IfAny(err, forgetter.Forget(ctx, 3, effectOf(0), effectOf(1), effectOf(2)))
	fail.If(wantAt(ctx, s, in, inLog(5), inbox.OutcomeFailed, driver.ErrGap), "after two commits were lost")
	never := func() bool { return false }
	done, err := session(ctx, s, in, count, never, never)
	if err != nil || !done {
		fail.With("read again: done %t, %w", done, orNone(err))
	}
	fail.If(wantEffectsTo(ctx, s, count))
}
