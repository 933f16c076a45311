package heldqueue

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// Relay identifies, for the audit, the relay that sets records aside.
type Relay struct {
	// Owner and Epoch are the owner and the epoch of the lease.
	Owner string
	Epoch int64
}

// CheckHoldings returns an error if h does not fit the first n records of a page: an index is out
// of range or does not ascend, or a fate does not hold a record.
func CheckHoldings(n int, h []driver.Holding) error {
	for i := range h {
		ascends := i == 0 || h[i].Index > h[i-1].Index
		if h[i].Index < 0 || h[i].Index >= n || !ascends || h[i].Fate < driver.FateRetry || h[i].Fate > driver.FateSkip {
			return fmt.Errorf("leat: cannot hold record %d of %d that are settled, with fate %s", h[i].Index, n, h[i].Fate)
		}
	}
	return nil
}

// ErrNumberTaken is returned by Hold if a different record has been set aside under the same
// number: the log has begun anew since, and skipping the record would lose it.
var ErrNumberTaken = errors.New("leat: a record of the log that was there before is set aside under this number: resolve or drop it")

// Hold sets the records aside that h names, in the transaction that settles them. A record that
// was set aside already is unchanged, so that a call whose answer was lost can be repeated.
func Hold(ctx context.Context, tx Tx, by Relay, records []outbox.Record, h []driver.Holding) error {
	if err := CheckHoldings(len(records), h); err != nil || len(h) == 0 {
		return err
	}
	there, err := bySeq(ctx, tx, []State{Retry, Wait, Parked, Dead}, h, func(one *driver.Holding) int64 { return records[one.Index].Seq })
	if err != nil {
		return err
	}
	var rows []Row
	var copies []*outbox.Record
	var touched keySet
	var notes []admin.AuditEntry
	now := tx.Now()
	for i := range h {
		r := &records[h[i].Index]
		if before, ok := there[r.Seq]; ok && before.ID != r.ID {
			return fmt.Errorf("%w: record %d is %q, and %q was set aside as %d before", ErrNumberTaken, r.Seq, r.ID, before.ID, r.Seq)
		} else if ok {
			continue
		}
		row := newRow(r, now)
		row.fail(h[i].Attempts, by.Epoch)
		if row.become(h[i].Fate, h[i].RetryIn, h[i].Reason, now) {
			rows, copies = append(rows, row), append(copies, r)
		}
		notes = by.note(notes, &row, h[i].Fate)
		touched.add(&row)
	}
	if err := store(rows, func(rows []Row) error { return tx.Insert(ctx, rows, copies) }); err != nil {
		return err
	}
	if err := note(ctx, tx, notes); err != nil {
		return err
	}
	_, err = settle(ctx, tx, touched.keys)
	return err
}

// bySeq returns the rows of the elements of all that are in one of the states in, by number. seq returns the number of
// an element.
func bySeq[T any](ctx context.Context, r Reader, in []State, all []T, seq func(one *T) int64) (map[int64]Row, error) {
	seqs := make([]int64, len(all))
	for i := range all {
		seqs[i] = seq(&all[i])
	}
	rows, err := r.Select(ctx, Query{In: in, Seqs: seqs})
	found := make(map[int64]Row, len(rows))
	for i := range rows {
		found[rows[i].Seq] = rows[i]
	}
	return found, err
}

// store calls write if there is anything to write.
func store(rows []Row, write func(rows []Row) error) error {
	if len(rows) == 0 {
		return nil
	}
	return write(rows)
}
