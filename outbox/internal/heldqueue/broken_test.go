package heldqueue_test

import (
	"context"
	"slices"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// broken are stores that make the queue break a rule, by what they do.
func broken() map[string]func(tx heldqueue.Tx) heldqueue.Tx {
	return map[string]func(tx heldqueue.Tx) heldqueue.Tx{
		"a follower is released before the head": func(tx heldqueue.Tx) heldqueue.Tx { return headless{tx} },
		"two of a key are retried":               func(tx heldqueue.Tx) heldqueue.Tx { return shortSighted{tx} },
		"what waits passes a parked record":      func(tx heldqueue.Tx) heldqueue.Tx { return overtaking{tx} },
		"a record is due before its time":        func(tx heldqueue.Tx) heldqueue.Tx { return hasty{tx} },
		"a dropped key comes back":               func(tx heldqueue.Tx) heldqueue.Tx { return clinging{tx} },
		"what was skipped is not noted":          func(tx heldqueue.Tx) heldqueue.Tx { return silent{tx} },
	}
}

// headless does not see parked records at the head of a key.
type headless struct{ heldqueue.Tx }

func (b headless) Heads(ctx context.Context, keys []driver.Key) ([]heldqueue.Row, error) {
	heads, err := b.Tx.Heads(ctx, keys)
	if err != nil {
		return nil, err
	}
	hidden := make(map[driver.Key]bool)
	for _, h := range heads {
		hidden[h.Key] = hidden[h.Key] || h.State == heldqueue.Parked
	}
	for key := range hidden {
		if !hidden[key] {
			continue
		}
		waiting, err := b.Select(ctx, heldqueue.Query{In: []heldqueue.State{heldqueue.Wait}, Line: key, Limit: 1})
		if err != nil {
			return nil, err
		}
		heads = append(slices.DeleteFunc(heads, func(h heldqueue.Row) bool { return h.Key == key }), waiting...)
	}
	return heads, nil
}

// shortSighted sees the first of a key only.
type shortSighted struct{ heldqueue.Tx }

func (b shortSighted) Heads(ctx context.Context, keys []driver.Key) ([]heldqueue.Row, error) {
	heads, err := b.Tx.Heads(ctx, keys)
	seen := make(map[driver.Key]bool)
	return slices.DeleteFunc(heads, func(h heldqueue.Row) bool {
		again := seen[h.Key]
		seen[h.Key] = true
		return again
	}), err
}

// overtaking returns all that waits behind a record, past others that do not.
type overtaking struct{ heldqueue.Tx }

func (b overtaking) Behind(ctx context.Context, rows []heldqueue.Row, limit int) ([]heldqueue.Row, error) {
	var all []heldqueue.Row
	for i := range rows {
		behind, err := b.Select(ctx, heldqueue.Query{
			In: []heldqueue.State{heldqueue.Wait}, Line: rows[i].Key, From: rows[i].Seq + 1, Limit: limit,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, behind...)
	}
	return all, nil
}

// hasty is ahead of its time.
type hasty struct{ heldqueue.Tx }

func (b hasty) Due(ctx context.Context, q heldqueue.DueQuery) ([]heldqueue.Row, error) {
	q.By = q.By.Add(2 * later)
	return b.Tx.Due(ctx, q)
}

// clinging deletes one row of each call.
type clinging struct{ heldqueue.Tx }

func (b clinging) Delete(ctx context.Context, rows []heldqueue.Row) error {
	return b.Tx.Delete(ctx, rows[:1])
}

// silent does not note what was skipped.
type silent struct{ heldqueue.Tx }

func (b silent) Note(ctx context.Context, entries []admin.AuditEntry) error {
	return b.Tx.Note(ctx, slices.DeleteFunc(entries, func(e admin.AuditEntry) bool { return e.Action == driver.FateSkip.String() }))
}
