package outboxtest

import (
	"context"
	"slices"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox/driver"
)

// groundChecks are made from the table of facts: one check for each fact that the suite can
// change, between two terms and within one. They do nothing on a Subject that is not a Mover, or
// whose store does not have the fact.
func groundChecks() (all []Check) {
	for _, f := range basis.Facts() {
		for _, m := range []groundMoves{{f, basis.Begin}, {f, basis.Page}} {
			if slices.ContainsFunc(f.Uses, m.among) {
				all = append(all, Check{Name: m.name(), run: m.run})
			}
		}
	}
	return all
}

// groundMoves is a check in which a fact changes, and is compared at a place.
type groundMoves struct {
	fact  *basis.FactError
	place basis.Place
}

func (m groundMoves) name() string {
	if m.place == basis.Begin {
		return checkOf(m.fact) + "BetweenTerms"
	}
	return checkOf(m.fact) + "UnderATerm"
}

// checkOf is the base name of the checks of the fact, for the stores of outboxes.
func checkOf(f *basis.FactError) string { return f.Check(basis.PostgreSQL) }

// among reports whether u is compared at the place, in a store of an outbox, and the suite can
// change it.
func (m groundMoves) among(u basis.Use) bool {
	return u.Test == "" && m.fact.Check(u.Store) == checkOf(m.fact) && slices.Contains(u.At, m.place)
}

// expectMoved expects a refusal. It must be about the fact f if the subject's store has f.
func (tr *trial) expectMoved(what string, err error, f *basis.FactError) {
	expectError(what, err, driver.ErrSourceUnusable)
	if mover, ok := tr.Subject.(Mover); ok && f != nil {
		store, _ := mover.Ground()
		if _, has := f.In(basis.Store(store)); has {
			expectError(what, err, f)
		}
	}
}

func (m groundMoves) run(ctx context.Context, tr *trial) {
	mover, ok := tr.Subject.(Mover)
	if !ok {
		return
	}
	store, moves := mover.Ground()
	use, ok := m.fact.In(basis.Store(store))
	if !ok || !m.among(use) {
		return
	}
	move := moves[m.fact.Name]
	if move == nil {
		fail.With("the subject does not say what changes %s, which it has", m.fact.Name)
	}
	tr.commit(ctx, named("a", "b", "c")...)
	readers := []*reader{tr.acquire(ctx)}
	readers[0].expectDrain(ctx, 10, "a", "b", "c")
	if m.place == basis.Begin {
		releaseAll(ctx, readers)
		readers = nil
	}
	fail.If(move(ctx), "move the ground")
	src := tr.Source(testGroup)
	_, refused := readOn(ctx, src, readers, 1)
	expectError("read after "+m.fact.Name+" has changed", refused, m.fact)
	if slices.Contains(use.At, basis.Begin) {
		_, err := src.Acquire(ctx, longTTL)
		expectError("acquire after "+m.fact.Name+" has changed", err, driver.ErrSourceUnusable)
		expectError("acquire after "+m.fact.Name+" has changed", err, m.fact)
	}
}
