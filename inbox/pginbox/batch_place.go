package pginbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
)

// batchPart is the part of a batch that is claimed by one statement: all its ids are in one
// place. Messages of another place, and all of them if the inbox only observes, are claimed
// alone.
type batchPart struct {
	at    place
	items []driver.BatchItem
	alone []int // indexes of the items that are not in the claim
}

// choose returns the part for the place of most of the items, and the consumer's number.
func (s *store) choose(ctx context.Context, conn pgclaim.Conn, items []driver.BatchItem) (number int16, b batchPart, err error) {
	at := make([]place, len(items))
	var count [places]int
	err = conn.Use(func(conn *pgx.Conn) (err error) {
		if number, err = s.number(ctx, conn); err != nil {
			return err
		}
		for i, item := range items {
			if at[i], err = s.place(ctx, conn, pgclaim.StoredID(item.ID)); err != nil {
				return err
			}
			count[at[i]]++
		}
		return nil
	})
	switch {
	case count[aboveFloor] > 0 && 2*(count[inRange]+count[aboveFloor]) > len(items):
		b.at = aboveFloor
	case 2*count[inRange] > len(items):
		b.at = inRange
	}
	for i, item := range items {
		if s.observe || (at[i] == plain) != (b.at == plain) {
			b.alone = append(b.alone, i)
		} else {
			b.items = append(b.items, item)
		}
	}
	return number, b, err
}

// statuses returns the statuses of all items, given those of b.items. Above a floor, a message
// that was refused may be too old rather than busy, which a claim of it alone finds out.
func (b batchPart) statuses(claimed []driver.Status) []driver.Status {
	all := make([]driver.Status, 0, len(claimed)+len(b.alone))
	alone := b.alone
	for len(all) < cap(all) {
		if len(alone) > 0 && alone[0] == len(all) {
			all, alone = append(all, driver.Alone), alone[1:]
			continue
		}
		status := claimed[0]
		if b.at == aboveFloor && status == driver.Busy {
			status = driver.Alone
		}
		all, claimed = append(all, status), claimed[1:]
	}
	return all
}

// allAlone is the answer to a batch that cannot be claimed as one: an id in it has
// no range, or its place has moved.
func allAlone(items []driver.BatchItem) []driver.Status {
	statuses := make([]driver.Status, len(items))
	for i := range statuses {
		statuses[i] = driver.Alone
	}
	return statuses
}
