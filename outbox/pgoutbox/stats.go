package pgoutbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Stats is the state of an outbox and of the relay groups that read it.
type Stats struct {
	// LastSeq is the Seq that was given out last, 0 where there is none.
	LastSeq int64
	// Bytes is the size of the log with its indexes, Rows the planner's estimate of
	// its rows, which is 0 until the tables were analysed first.
	Bytes, Rows int64
	// Delayed is the number of messages that are not due yet, counted up to
	// 100,000.
	Delayed int
	// Groups are the relay groups, by name.
	Groups []GroupStats
}

// GroupStats is the state of a relay group.
type GroupStats struct {
	Name string
	// Held is the number of records that are held: Retrying of them are tried again,
	// Parked wait for an operator, and the others wait behind one of their key. Dead is
	// the number of records that were given up. Each is counted up to 100,000.
	Held, Retrying, Parked, Dead int
	// OldestRetried is the age of the oldest message that is tried again, since it
	// was enqueued; 0 where there is none.
	OldestRetried time.Duration
	// Slots are the group's slots. Empty until a relay has begun.
	Slots []SlotStats
}

// SlotStats is the state of one slot of a relay group.
type SlotStats struct {
	Slot int
	// Owner holds the lease, or held it last; empty where it was given up.
	Owner string
	// Epoch is that of the lease.
	Epoch int64
	// LeaseLeft is how long the lease still runs; 0 where nobody holds it.
	LeaseLeft time.Duration
	// Window is the number of the newest window, WindowAge its age: an idle relay
	// opens none.
	Window    int64
	WindowAge time.Duration
	// Problem is what is wrong with the slot's position, "" for nothing: it belongs to
	// another cluster or another log, or lies ahead of the log. Relays refuse it, and
	// all that the log holds counts as not settled, until Outbox.Rebase.
	Problem string
	// Backlog is the number of messages that are not settled: exact up to a
	// thousand, estimated from the numbers given out beyond that.
	Backlog int64
	// Lag is the age of the oldest message that is not settled, since it was
	// enqueued; 0 where there is none. It is measured past whatever transactions are
	// open.
	Lag time.Duration
}

// Stats looks at the outbox with one statement, which costs a few index probes a
// slot whatever the length of the log. It needs what a relay needs, and SELECT on
// the status view and the table of delayed messages; it writes nothing.
func (o *Outbox) Stats(ctx context.Context) (Stats, error) {
	var s Stats
	batch := &pgx.Batch{}
	batch.Queue(withoutJIT)
	batch.Queue(o.sql.stats).Query(s.scan)
	err := o.pool.SendBatch(ctx, batch).Close()
	return s, describe(err)
}

// withoutJIT holds for the implicit transaction of a batch. To compile the statement
// would take seconds, to run it takes a millisecond.
const withoutJIT = "SELECT set_config('jit', 'off', true)"

// scan reads a row a slot.
func (s *Stats) scan(rows pgx.Rows) error {
	var group, owner, problem *string
	var held, retrying, parked, dead, slot *int
	var epoch, window, pending *int64
	var oldest, left, age, lag *int64 // in µs
	_, err := pgx.ForEachRow(rows, []any{
		&s.LastSeq, &s.Bytes, &s.Rows, &s.Delayed, &group, &held, &retrying, &parked, &dead, &oldest,
		&slot, &owner, &epoch, &left, &window, &age, &pending, &lag, &problem,
	}, func() error {
		if group == nil {
			return nil
		}
		if len(s.Groups) == 0 || s.Groups[len(s.Groups)-1].Name != *group {
			s.Groups = append(s.Groups, GroupStats{
				Name: *group, Held: or0(held), Retrying: or0(retrying), Parked: or0(parked), Dead: or0(dead), OldestRetried: ageOf(oldest),
			})
		}
		if slot != nil {
			g := &s.Groups[len(s.Groups)-1]
			g.Slots = append(g.Slots, SlotStats{
				Slot: *slot, Owner: or0(owner), Epoch: or0(epoch), LeaseLeft: ageOf(left),
				Window: or0(window), WindowAge: ageOf(age), Backlog: or0(pending), Lag: ageOf(lag), Problem: or0(problem),
			})
		}
		return nil
	})
	return err
}

// or0 returns the zero value for what is not known.
func or0[T any](v *T) (value T) {
	if v != nil {
		value = *v
	}
	return value
}

// ageOf returns a time that the database gives in µs; 0 where it is not known.
func ageOf(v *int64) time.Duration {
	return max(0, time.Duration(or0(v))*time.Microsecond)
}
