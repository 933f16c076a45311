package inboxtest

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/fail"
)

// Mover is implemented by a Subject that can change the facts on which the memory of its inboxes,
// or of caches in front of them, rests.
type Mover interface {
	// Ground returns the subject's store in the table of package internal/basis, and for each
	// fact there, by its name, a function that changes it. What the inboxes remember is then
	// lost.
	Ground() (store string, moves map[string]func(ctx context.Context) error)
}

// groundMoves is a check in which a fact changes, and is compared at a place.
type groundMoves struct {
	fact  *basis.FactError
	store basis.Store
	place basis.Place
}

// groundOf returns the checks of all facts of a store that a suite can change.
func groundOf(store basis.Store) (all []groundMoves) {
	for _, f := range basis.Facts() {
		use, _ := f.In(store)
		if use.Test != "" {
			continue
		}
		for _, place := range use.At {
			all = append(all, groundMoves{f, store, place})
		}
	}
	return all
}

func (m groundMoves) name() string {
	if m.place == basis.Begin {
		return m.fact.Check(m.store) + "BetweenSessions"
	}
	return m.fact.Check(m.store) + "UnderASession"
}

// groundChecks check nothing on a Subject that is not a Mover, or whose store does not have
// the fact.
func groundChecks() (all []Check) {
	for _, m := range groundOf(basis.Caches) {
		all = append(all, Check{Name: m.name(), run: m.run})
	}
	for _, m := range groundOf(basis.Inboxes) {
		all = append(all, Check{Name: m.name(), run: m.runIDs})
	}
	return all
}

// run makes the store lose its memory: an inbox or cache that still remembers must not be
// trusted.
func (m groundMoves) run(ctx context.Context, s Subject) {
	mover, ok := s.(Mover)
	if !ok {
		return
	}
	store, moves := mover.Ground()
	if basis.Store(store) != m.store {
		return
	}
	move := moves[m.fact.Name]
	if move == nil {
		fail.With("the subject does not say what changes %s, which it has", m.fact.Name)
	}
	in := open(s)
	fail.IfAny(
		wantOutcome(ctx, in, "a", inbox.OutcomeCommitted, nil, writing(s, "a")),
		wantOutcome(ctx, in, "a", inbox.OutcomeDuplicate, nil, writing(s, "too often")),
	)
	fail.If(move(ctx), "move the ground")
	fail.IfAny(
		wantOutcome(ctx, in, "a", inbox.OutcomeCommitted, nil, writing(s, "a again")),
		wantOutcome(ctx, in, "a", inbox.OutcomeDuplicate, nil, writing(s, "too often")),
		wantEffects(ctx, s, "a", "a again"),
	)
}

// otherIDs is a source of ids that are not those of inbox.DefaultIDSource.
func otherIDs() inbox.IDSource {
	return inbox.IDSource{Name: "other", Find: func(msg *message.Message) (string, error) { return "other " + msg.UUID, nil }}
}

// runIDs switches to another source of ids: processed messages must not run again, by any way of
// processing.
func (m groundMoves) runIDs(ctx context.Context, s Subject) {
	in, cfg := open(s), inbox.Config{IDFrom: otherIDs(), OnFailure: inbox.Policy{Delay: time.Millisecond}}
	other, err := s.Open(consumer, cfg)
	fail.IfAny(
		err,
		wantOutcome(ctx, in, "a", inbox.OutcomeCommitted, nil, writing(s, "a")),
		wantOutcome(ctx, other, "a", inbox.OutcomeFailed, m.fact, writing(s, "never")),
		wantOutcome(ctx, other, "b", inbox.OutcomeFailed, m.fact, writing(s, "never")),
	)
	if batches, ok := s.(BatchSubject); ok {
		batch, err := batches.OpenBatch(consumer, cfg, inbox.BatchConfig{})
		fail.If(err)
		for _, err := range batch.Process(ctx, []*message.Message{newMessage(ctx, "a"), newMessage(ctx, "b")},
			func(ctx context.Context, _ []*message.Message) error { return s.Write(ctx, "never") }) {
			if !errors.Is(err, m.fact) {
				fail.With("a batch with other ids: error %w, want %w", orNone(err), m.fact)
			}
		}
	}
	cfg.IDFrom.Name = inbox.DefaultIDSource().Name // as if the ids were the same
	same, err := s.Open(consumer, cfg)
	fail.IfAny(
		err,
		wantOutcome(ctx, same, "c", inbox.OutcomeCommitted, nil, writing(s, "c")),
		wantOutcome(ctx, in, "b", inbox.OutcomeCommitted, nil, writing(s, "b")),
		wantOutcome(ctx, in, "a", inbox.OutcomeDuplicate, nil, writing(s, "too often")),
		wantEffects(ctx, s, "a", "b", "c"),
	)
}

// checkIDsOfAnEmptyMemory changes the source of ids before anything is remembered, and after. A
// refusal is not a failure of the message.
func checkIDsOfAnEmptyMemory(ctx context.Context, s FailureSubject) {
	failing := func(context.Context) error { return errHandler }
	other, err := s.Open(consumer, inbox.Config{IDFrom: otherIDs(), OnFailure: inbox.Policy{Delay: time.Millisecond}})
	fail.IfAny(err, wantOutcome(ctx, other, "a", inbox.OutcomeFailed, errHandler, failing))
	in := open(s)
	fail.If(wantOutcome(ctx, in, "a", inbox.OutcomeCommitted, nil, writing(s, "a")))
	late, err := s.Open(consumer, inbox.Config{IDFrom: otherIDs(), OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1, Delay: time.Millisecond}})
	fail.IfAny(
		err,
		wantOutcome(ctx, late, "b", inbox.OutcomeFailed, basis.ErrOtherIDs, writing(s, "never")),
		wantOutcome(ctx, late, "b", inbox.OutcomeFailed, basis.ErrOtherIDs, writing(s, "never")),
		wantOutcome(ctx, in, "b", inbox.OutcomeCommitted, nil, writing(s, "b")),
		wantEffects(ctx, s, "a", "b"),
	)
}

// positionGroundChecks change what a log is to an inbox of positions.
func positionGroundChecks() (all []positionCheck) {
	for _, m := range groundOf(basis.Watermarks) {
		all = append(all, positionCheck{Name: m.name(), run: m.runPositions})
	}
	return all
}

// logMoves returns the functions that change a fact, by its name: in the Assignment of a
// partition and in the position of a message.
func logMoves() map[string]func(a *driver.Assignment, p *driver.Position) {
	return map[string]func(a *driver.Assignment, p *driver.Position){
		basis.ErrSourceChanged.Name: func(a *driver.Assignment, p *driver.Position) { a.Source, p.Source = madeAgain, madeAgain },
		basis.ErrBeyondEnd.Name:     func(a *driver.Assignment, _ *driver.Position) { a.End = 0 },
		basis.ErrGap.Name:           func(_ *driver.Assignment, p *driver.Position) { p.Offset, p.Prev = 2, 1 },
	}
}

// runPositions expects the change to be refused, and nothing to have happened.
func (m groundMoves) runPositions(ctx context.Context, s PositionSubject) {
	move := logMoves()[m.fact.Name]
	if move == nil {
		fail.With("the suite does not know what changes %s", m.fact.Name)
	}
	in := openLog(s, consumer)
	fail.IfAny(wantNext(ctx, in, wholeLog(3), 0), wantAt(ctx, s, in, inLog(0), inbox.OutcomeCommitted, nil))
	a, p, sound := wholeLog(3), inLog(1), wholeLog(9)
	sound.Partition, sound.From = 1, 7
	move(&a, &p)
	var err error
	if m.place == basis.Begin {
		_, err = openLog(s, consumer).Assigned(ctx, []driver.Assignment{sound, a})
	} else {
		_, err = processAt(ctx, in, p, func(ctx context.Context) error { return s.Write(ctx, "never") })
	}
	if !errors.Is(err, m.fact) {
		fail.With("after %s has changed: error %w, want %w", m.fact.Name, orNone(err), m.fact)
	}
	sound.From = 2 // the inbox does not know the partition yet
	fail.IfAny(wantEffects(ctx, s, effectOf(0)), wantNext(ctx, in, sound, 2), wantNext(ctx, in, wholeLog(3), 1))
}
