package heldqueue

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

var errVerdict = errors.New("leat: a verdict needs a record, and another fate than wait")

// Resolve stores verdicts, and returns those of their keys that have no held record any more. A
// record that is no longer held, or is parked by now, is skipped.
func Resolve(ctx context.Context, tx Tx, by Relay, verdicts []driver.Verdict) (free []driver.Key, err error) {
	for i := range verdicts {
		if fate := verdicts[i].Fate; verdicts[i].Record == nil || fate == driver.FateWait || fate < driver.FateRetry || fate > driver.FateDelivered {
			return nil, errVerdict
		}
	}
	if len(verdicts) == 0 {
		return nil, nil
	}
	held, err := bySeq(ctx, tx, []State{Retry, Wait}, verdicts, func(v *driver.Verdict) int64 { return v.Record.Seq })
	if err != nil {
		return nil, err
	}
	var stay, leave []Row
	var touched keySet
	var notes []admin.AuditEntry
	now := tx.Now()
	for i := range verdicts {
		v := &verdicts[i]
		touched.add(&Row{Key: keyOf(v.Record)})
		row, ok := held[v.Record.Seq]
		if !ok {
			continue
		}
		delete(held, row.Seq) // a second verdict on it is skipped
		row.fail(v.Attempts, by.Epoch)
		if row.become(v.Fate, v.RetryIn, v.Reason, now) {
			stay = append(stay, row)
		} else {
			leave = append(leave, row)
		}
		notes = by.note(notes, &row, v.Fate)
	}
	slices.SortFunc(notes, func(a, b admin.AuditEntry) int { return cmp.Compare(a.Seq, b.Seq) })
	err = errors.Join(
		store(stay, func(rows []Row) error { return tx.Update(ctx, rows) }),
		store(leave, func(rows []Row) error { return tx.Delete(ctx, rows) }),
		note(ctx, tx, notes),
	)
	if err != nil {
		return nil, err
	}
	return settle(ctx, tx, touched.keys)
}
