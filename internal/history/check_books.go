package history

import (
	"cmp"
	"maps"
	"slices"
)

// account is a key in a book.
type account struct{ book, key uint32 }

// checkBooks is the conservation: in every book, each account holds its initial amount plus what
// the rows of the ledger, or of the effects, have moved.
func (x *index) checkBooks(q *inquiry) {
	if !x.ended[Balance] {
		q.finding.Unjudged = "there is no dump of balances"
		return
	}
	uncertain := x.uncertain()
	should, is, sums := map[account]int64{}, map[account]int64{}, map[uint32]int64{}
	for _, b := range x.balances {
		if b.book == 0 && uncertain {
			continue
		}
		should[account{b.book, b.key}] += b.opening
		is[account{b.book, b.key}] += b.amount
		sums[b.book] += b.amount
	}
	x.moves(func(book, key, to uint32, amount int64) {
		if _, kept := sums[book]; !kept {
			return
		}
		if to != 0 {
			should[account{book, to}] += amount
			amount = -amount
		}
		should[account{book, key}] += amount
	})
	expected := map[uint32]int64{}
	for a, n := range should {
		expected[a.book] += n
	}
	order := func(a, b account) int {
		return cmp.Or(cmp.Compare(a.book, b.book), cmp.Compare(x.keys.text(a.key), x.keys.text(b.key)))
	}
	for rank, a := range slices.SortedFunc(maps.Keys(should), order) {
		q.finding.Checked++
		if is[a] != should[a] {
			q.violate(int64(rank), "account %s of %s holds %d, but should hold %d; together its accounts hold %d and should %d",
				keyRef(a.key), x.owner(a.book), is[a], should[a], sums[a.book], expected[a.book])
		}
	}
}

// uncertain reports whether some outcomes are unresolved and, if so, what the producer's accounts
// should hold.
func (x *index) uncertain() bool {
	return !x.ended[Ledger] && slices.ContainsFunc(x.events, func(e event) bool { return x.outcome(&e) == unresolved })
}

// moves yields the amounts that committed events and effects have moved. Which events have
// committed is decided by the ledger or, without one, by what the producer was told.
func (x *index) moves(yield func(book, key, to uint32, amount int64)) {
	for i := range x.events {
		if e := &x.events[i]; x.outcome(e) == committed {
			yield(0, e.key, e.to, e.amount)
		}
	}
	for _, f := range x.effects {
		if f.book != 0 {
			yield(f.book, f.key, f.to, f.amount)
		}
	}
}

// owner names the owner of a book for human readers.
func (x *index) owner(book uint32) string {
	if book == 0 {
		return "the producer"
	}
	return x.books.text(book)
}
