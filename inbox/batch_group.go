package inbox

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
)

// group runs entries, which are at most MaxBatch, and settles each of them.
func (c *batchCall) group(ctx context.Context, entries []batchEntry) {
	var aside []batchEntry
	for try := 0; ; try++ {
		entries = c.runnable(ctx, entries)
		if len(entries) < 2 {
			aside = append(aside, entries...)
			break
		}
		rest, alone, err := c.attempt(ctx, entries)
		aside = append(aside, alone...)
		if len(rest) == 0 {
			break
		}
		if !lostToOthers(err) || try >= c.cfg.Retries {
			c.split(ctx, rest, err)
			break
		}
		c.backOff(ctx, try)
		entries = rest
	}
	slices.SortFunc(aside, func(a, b batchEntry) int { return a.place - b.place })
	for _, e := range aside {
		c.single(ctx, e)
	}
}

// attempt runs entries in one transaction. It returns those that it did not
// settle: because of the error, and because they are to be run alone, after the
// rest.
func (c *batchCall) attempt(ctx context.Context, entries []batchEntry) (rest, alone []batchEntry, err error) {
	unit, fresh, alone, err := c.claim(ctx, entries)
	if err != nil {
		if lostToOthers(err) || tooLarge(err) {
			return fresh, alone, err
		}
		c.settleAll(ctx, fresh, OutcomeFailed, "claim", errors.Join(ErrNotClaimed, err))
		return nil, alone, err
	}
	if len(fresh) == 0 {
		return nil, alone, nil
	}
	outcome, err := c.run(ctx, unit, fresh)
	switch outcome {
	case OutcomeCommitted:
		c.settleAll(ctx, fresh, outcome, "", nil)
		return nil, alone, nil
	case OutcomeUnknown:
		c.settleAll(ctx, fresh, outcome, "commit", err)
		return nil, alone, err
	default:
		return fresh, alone, err
	}
}

// claim claims what it can of entries and settles the duplicates and the Busy
// ones. A message that is not to be run now, because of an earlier one of its key,
// must not stay claimed: the claim is undone and made without it. That happens
// only where messages are delivered to two at a time, and each time there are
// fewer.
func (c *batchCall) claim(ctx context.Context, entries []batchEntry) (unit Unit, fresh, alone []batchEntry, err error) {
	for {
		entries, alone = c.sortOut(entries, alone, nil)
		if len(entries) == 0 {
			return nil, nil, alone, nil
		}
		if err := failpoint.Inject(ctx, failpoint.ConsumerAfterReceive); err != nil {
			return nil, entries, alone, err
		}
		unit, statuses, err := c.store.ClaimBatch(ctx, itemsOf(entries))
		if err == nil && len(statuses) != len(entries) {
			err = errors.New("leat: the store answered for another number of messages")
		}
		if err != nil {
			c.rollback(ctx, unit)
			return nil, entries, alone, err
		}
		claimed := 0
		for i, e := range entries {
			switch statuses[i] {
			case Claimed:
				claimed++
			case Duplicate:
				c.settle(ctx, e, OutcomeDuplicate, nil)
			case Busy:
				c.settleAll(ctx, entries[i:i+1], OutcomeBusy, "claim", ErrBusy)
			case Alone: // put aside below
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

// sortOut takes those out of entries that have a status other than Claimed, and
// puts aside what is to be run alone, and what is to be run after that.
func (*batchCall) sortOut(entries, alone []batchEntry, statuses []Status) (rest, aside []batchEntry) {
	waiting := make(map[string]bool)
	for _, e := range alone {
		waiting[e.key] = true
	}
	for i, e := range entries {
		status := Claimed
		if statuses != nil {
			status = statuses[i]
		}
		switch {
		case status == Duplicate, status == Busy:
		case status != Claimed, e.id == "", e.key != "" && waiting[e.key]:
			waiting[e.key] = true
			alone = append(alone, e)
		default:
			rest = append(rest, e)
		}
	}
	return rest, alone
}

func itemsOf(entries []batchEntry) []BatchItem {
	items := make([]BatchItem, len(entries))
	for i, e := range entries {
		items[i] = BatchItem{ID: e.id, Key: e.key}
	}
	return items
}

// split runs entries, whose transaction has failed, in two parts, or around the
// one that the error names.
func (c *batchCall) split(ctx context.Context, entries []batchEntry, err error) {
	c.p.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "inbox batch failed, its messages are run in smaller ones",
		slog.String("consumer", c.p.consumer), slog.Int("messages", len(entries)), slog.Any("error", err))
	half := len(entries) / 2
	cuts := []int{half}
	if named, ok := errors.AsType[*MessageError](err); ok && named.Index >= 0 && named.Index < len(entries) {
		cuts = []int{named.Index, named.Index + 1}
	}
	from := 0
	for _, to := range append(cuts, len(entries)) {
		if to > from {
			c.group(ctx, entries[from:to])
		}
		from = to
	}
}

// backOff waits a little, so that transactions that met once do not meet again:
// up to 5 ms, and twice that each time.
func (c *batchCall) backOff(ctx context.Context, try int) {
	longest := 5 * time.Millisecond << min(try, 6)
	pause(ctx, rand.N(longest)) //nolint:gosec // jitter is no secret
}
