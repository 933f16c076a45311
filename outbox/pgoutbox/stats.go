package pgoutbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/admin"
)

// Stats implements admin.Outbox with one statement.
func (o operator) Stats(ctx context.Context) (admin.Stats, error) {
	var s admin.Stats
	batch := &pgx.Batch{}
	batch.Queue(byIndex)
	batch.Queue(o.sql.stats).Query(func(rows pgx.Rows) error { return scanStats(rows, &s) })
	o.held.QueueOutages(batch, &s.Groups)
	err := o.pool.SendBatch(ctx, batch).Close()
	return s, describe(err)
}

// withoutJIT applies to the implicit transaction of a batch. Compiling a statement would take
// seconds, running it takes a millisecond.
const withoutJIT = "SELECT set_config('jit', 'off', true)"

// byIndex is the same, and makes bounded counts walk an index: with the planner's guesses for
// tables that were not analysed, it would sort all rows to find the first.
const byIndex = "SELECT set_config('jit', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)"

// scanStats reads one row per slot.
func scanStats(rows pgx.Rows, s *admin.Stats) error {
	var group, owner, problem *string
	var held, retrying, parked, dead, slot *int
	var estimated *bool
	var epoch, window, pending *int64
	var oldest, waiting, left, age, lag *int64 // in µs
	_, err := pgx.ForEachRow(rows, []any{
		&s.LastSeq, &s.Bytes, &s.Rows, &s.Ranges, &s.RangesAhead, &s.Delayed, &s.DelayedEstimated, &s.Maintainer,
		&group, &held, &retrying, &parked, &dead, &estimated, &oldest, &waiting,
		&slot, &owner, &epoch, &left, &window, &age, &pending, &lag, &problem,
	}, func() error {
		if group == nil {
			return nil
		}
		if len(s.Groups) == 0 || s.Groups[len(s.Groups)-1].Name != *group {
			s.Groups = append(s.Groups, admin.GroupStats{
				Name: *group, Held: or0(held), Retrying: or0(retrying), Parked: or0(parked), Dead: or0(dead), Estimated: or0(estimated),
				OldestRetried: ageOf(oldest), OldestWaiting: ageOf(waiting),
			})
		}
		if slot != nil {
			g := &s.Groups[len(s.Groups)-1]
			g.Slots = append(g.Slots, admin.SlotStats{
				Slot: *slot, Owner: or0(owner), Epoch: or0(epoch), LeaseLeft: ageOf(left),
				Window: or0(window), WindowAge: ageOf(age), Backlog: or0(pending), Lag: ageOf(lag), Problem: or0(problem),
			})
		}
		return nil
	})
	return err
}

// or0 returns the zero value if p is nil.
func or0[T any](v *T) (value T) {
	if v != nil {
		value = *v
	}
	return value
}

// ageOf returns a time that the database returns in µs; 0 if it is not known.
func ageOf(v *int64) time.Duration {
	return max(0, time.Duration(or0(v))*time.Microsecond)
}
