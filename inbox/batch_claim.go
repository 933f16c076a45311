package inbox

import (
	"context"
	"maps"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/failpoint"
)

// claim claims those of entries that it can, and settles the duplicates and the Busy ones. A
// message that must not run now, because of an earlier one of its key, must not stay claimed: the
// claim is undone and repeated without it. That happens only if two processes get the same
// messages at a time, and with fewer messages each time.
func (c *batchCall) claim(ctx context.Context, entries []batchEntry) (unit driver.Unit, fresh, alone []batchEntry, err error) {
	for {
		entries, alone = c.sortOut(entries, alone, nil)
		if len(entries) == 0 {
			return nil, nil, alone, nil
		}
		if err := failpoint.Inject(ctx, failpoint.ConsumerAfterReceive); err != nil {
			return nil, entries, alone, err
		}
		noted, err := c.noteAttempts(ctx, entries)
		if err != nil {
			return nil, entries, alone, err
		}
		if entries, alone = c.sortOut(entries, alone, noted); len(entries) == 0 {
			return nil, nil, alone, nil
		}
		unit, statuses, err := c.store.ClaimBatch(ctx, itemsOf(entries))
		if err == nil && len(statuses) != len(entries) {
			err = errWrongAnswer
		}
		if err != nil {
			c.rollback(ctx, unit)
			return nil, entries, alone, err
		}
		claimed := 0
		for i, e := range entries {
			switch statuses[i] {
			case driver.Claimed:
				claimed++
			case driver.Duplicate:
				c.settle(ctx, e, OutcomeDuplicate, nil)
			case driver.Busy:
				c.settleAll(ctx, entries[i:i+1], OutcomeBusy, "claim", ErrBusy)
			case driver.Alone, driver.Later, driver.NotBehind: // put aside below; NotBehind is not an answer to a claim
			}
		}
		entries, alone = c.sortOut(entries, alone, statuses)
		fresh = c.runnable(ctx, entries)
		if len(fresh) == claimed {
			return unit, fresh, alone, nil
		}
		c.rollback(ctx, unit)
		entries = fresh
	}
}

// sortOut removes the entries that have a status other than Claimed. It puts aside the messages
// to run alone and those to run after them.
func (c *batchCall) sortOut(entries, alone []batchEntry, statuses []driver.Status) (rest, aside []batchEntry) {
	first := maps.Clone(c.parked) // of each key, the first message to run alone
	put := func(e batchEntry) {
		if at, found := first[e.key]; !found || e.place < at {
			first[e.key] = e.place
		}
	}
	for _, e := range alone {
		put(e)
	}
	for i, e := range entries {
		status := driver.Claimed
		if statuses != nil {
			status = statuses[i]
		}
		delete(c.later, e.place)
		if status == driver.Later { // the map stays small
			c.later[e.place] = true
		}
		if status == driver.Alone {
			c.apart[e.place] = true
		}
		at, found := first[e.key]
		switch {
		case status == driver.Duplicate, status == driver.Busy:
		case status != driver.Claimed, c.apart[e.place], e.id == "", e.key.Name != "" && found && at < e.place:
			put(e)
			alone = append(alone, e)
		default:
			rest = append(rest, e)
		}
	}
	return rest, alone
}

// noteAttempts notes those of entries that this call has not noted yet. The result is nil if
// nothing must be sorted out.
func (c *batchCall) noteAttempts(ctx context.Context, entries []batchEntry) ([]driver.Status, error) {
	if c.attempts == nil {
		return c.behind(ctx, entries)
	}
	var fresh []batchEntry
	var places []int
	for i, e := range entries {
		if !c.noted[e.place] {
			fresh, places = append(fresh, e), append(places, i)
		}
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	if err := failpoint.Inject(ctx, failpoint.ConsumerAttemptWrite); err != nil {
		return nil, err
	}
	alone, err := c.attempts.AttemptBatch(ctx, itemsOf(fresh))
	if err == nil && len(alone) != len(fresh) {
		err = errWrongAnswer
	}
	if err != nil {
		return nil, err
	}
	statuses := make([]driver.Status, len(entries))
	for i := range statuses {
		statuses[i] = driver.Claimed
	}
	for i, e := range fresh {
		c.noted[e.place] = true
		if alone[i] {
			statuses[places[i]] = driver.Alone
		}
	}
	return statuses, nil
}

// behind sorts out messages of keys that may be parked, if attempts are not counted.
func (c *batchCall) behind(ctx context.Context, entries []batchEntry) (statuses []driver.Status, err error) {
	for i, e := range entries {
		queued, err := c.p.isQueued(ctx, func() (driver.Key, error) { return e.key, nil })
		if err != nil {
			return nil, err
		}
		if !queued {
			continue
		}
		if statuses == nil {
			statuses = make([]driver.Status, len(entries))
			for at := range statuses {
				statuses[at] = driver.Claimed
			}
		}
		statuses[i] = driver.Alone
	}
	return statuses, nil
}

func itemsOf(entries []batchEntry) []driver.BatchItem {
	items := make([]driver.BatchItem, len(entries))
	for i, e := range entries {
		items[i] = driver.BatchItem{ID: e.id, Key: e.key}
	}
	return items
}
