package inbox

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/wait"
)

// group runs entries, which are at most MaxBatch, and settles each of them.
func (c *batchCall) group(ctx context.Context, entries []batchEntry) {
	all := len(entries)
	var aside []batchEntry
	for try := 0; ; try++ {
		entries = c.runnable(ctx, entries)
		if len(entries) < 2 {
			aside = append(aside, entries...)
			break
		}
		rest, alone, err := c.attempt(ctx, entries)
		aside = append(aside, alone...)
		if c.outage != nil {
			rest = c.runnable(ctx, rest) // none
		}
		if len(rest) == 0 {
			break
		}
		if !c.conflict(err) || try >= c.p.cfg.ConflictRetries {
			c.split(ctx, rest, err)
			break
		}
		_ = wait.For(ctx, jitter.Around(min(c.p.cfg.ConflictDelay<<min(try, 20), maxConflictDelay), 0.5))
		entries = rest
	}
	slices.SortFunc(aside, func(a, b batchEntry) int { return a.place - b.place })
	isLater := func(e batchEntry) bool { return c.later[e.place] }
	if len(aside) < all && slices.ContainsFunc(aside, isLater) {
		c.group(ctx, aside)
		return
	}
	for _, e := range aside {
		c.single(ctx, e)
	}
}

// attempt runs entries in one transaction. It returns the entries that it did not settle: those
// that failed with the error, and those to run alone, after the rest.
// See design 15.1.
func (c *batchCall) attempt(ctx context.Context, entries []batchEntry) (rest, alone []batchEntry, err error) {
	unit, fresh, alone, err := c.claim(ctx, entries)
	if err != nil {
		if c.conflict(err) || errors.Is(err, driver.ErrBatchTooLarge) {
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
		c.forget(fresh)
		c.settleAll(ctx, fresh, outcome, "", nil)
		return nil, alone, nil
	case OutcomeUnknown:
		c.settleAll(ctx, fresh, outcome, "commit", err)
		return nil, alone, err
	default:
		if err = markOutage(c.store, err); isOutage(err) {
			c.outage = err
		}
		return fresh, alone, err
	}
}

// forget removes the notes of messages that were processed.
func (c *batchCall) forget(entries []batchEntry) {
	if c.attempts == nil {
		return
	}
	for _, e := range entries {
		c.attempts.Settle(e.id)
	}
}

// conflict reports whether the transaction was aborted because of others.
func (c *batchCall) conflict(err error) bool {
	classifier, ok := c.store.(driver.Classifier)
	return ok && classifier.Conflict(err)
}

// split runs entries, whose transaction has failed, in two parts, or around the
// one that the error names.
func (c *batchCall) split(ctx context.Context, entries []batchEntry, err error) {
	c.p.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "inbox batch failed, its messages are run in smaller ones",
		slog.String("consumer", c.p.consumer), slog.Int("messages", len(entries)), slog.Any("error", err))
	half := len(entries) / 2
	cuts := []int{half}
	if named, ok := errors.AsType[*MessageError](err); ok && named.Index >= 0 && named.Index < len(entries) {
		if c.each {
			c.around(ctx, entries, named.Index)
			return
		}
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
