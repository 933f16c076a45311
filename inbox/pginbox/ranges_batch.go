package pginbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/driver"
)

// batchHome is where a batch is claimed: all of it in one place. Messages of another
// place, and all of them where the inbox only observes, are claimed alone.
type batchHome struct {
	claim string
	alone []int // places of the items, from 0, that are not in the claim
	items []driver.BatchItem
	// wary says that a message that was refused may be too old rather than busy.
	wary bool
}

// batchHome chooses the place that most of items have.
func (k keys) batchHome(ctx context.Context, conn *pgx.Conn, items []driver.BatchItem) (batchHome, error) {
	ranged := make([]bool, len(items))
	count := 0
	b := batchHome{claim: k.claimBatch}
	for i, item := range items {
		at, err := k.home(ctx, conn, k.id(item.ID))
		if err != nil {
			return b, err
		}
		if ranged[i] = at.ranged; at.ranged {
			count++
			b.wary = at.claim == k.claimAbove
		}
	}
	most := 2*count > len(items)
	switch {
	case most && b.wary:
		b.claim = k.batchAbove
	case most:
		b.claim = k.batchRange
	default:
		b.wary = false
	}
	for i, item := range items {
		if k.observe || ranged[i] != most {
			b.alone = append(b.alone, i)
		} else {
			b.items = append(b.items, item)
		}
	}
	return b, nil
}

// statuses are those of all items, given those of b.items.
func (b batchHome) statuses(claimed []driver.Status) []driver.Status {
	all := make([]driver.Status, 0, len(claimed)+len(b.alone))
	alone := b.alone
	for len(all) < cap(all) {
		if len(alone) > 0 && alone[0] == len(all) {
			all, alone = append(all, driver.Alone), alone[1:]
			continue
		}
		status := claimed[0]
		if b.wary && status == driver.Busy {
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
