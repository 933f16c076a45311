package relay

import (
	"context"
	"slices"

	"github.com/leat-go/leat/outbox/driver"
)

// store stores the position after the first n records of the page. Each of them was acknowledged
// or is in holdings.
func (d *pageDelivery) store(work context.Context, n int) error {
	if n <= d.stored {
		return nil
	}
	s := d.m.s
	slices.SortFunc(d.holdings, func(a, b driver.Holding) int { return a.Index - b.Index })
	ready, _ := slices.BinarySearchFunc(d.holdings, n, func(h driver.Holding, n int) int { return h.Index - n })
	if ready == 0 {
		if err := s.advance(work, d.page, d.stored, n); err != nil {
			return err
		}
	} else {
		if err := d.m.held.store(work, d.page, n, d.holdings[:ready]); err != nil {
			return err
		}
		d.removeHoldings(ready)
		s.countStored(work, d.page.Records[d.stored:n], ready)
	}
	s.retry.Reset()
	d.stored = n
	return nil
}

// removeHoldings removes the first n holdings, which are stored.
func (d *pageDelivery) removeHoldings(n int) {
	for _, h := range d.holdings[:n] {
		if key := keyOf(&d.page.Records[h.Index]); d.givenUp[key] == h.Index {
			delete(d.givenUp, key)
		}
	}
	d.holdings = slices.Delete(d.holdings, 0, n)
}

// storeGivenUp stores records that were given up, so that the later ones of their key can be
// sent. They must wait until then: after a crash another relay would begin with the record that
// was not stored, and its broker might take it (rule R1). freed reports that some can be sent
// now.
func (d *pageDelivery) storeGivenUp(work context.Context) (freed bool, err error) {
	before := len(d.givenUp)
	if before == 0 || !slices.ContainsFunc(d.todo, func(i int) bool { return d.isGivenUp(&d.page.Records[i]) }) {
		return false, nil
	}
	err = d.store(work, d.todo[0])
	return len(d.givenUp) < before, err
}
