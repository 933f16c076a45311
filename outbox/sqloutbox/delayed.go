package sqloutbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

// promotePage is the number of messages that one transaction moves into the log.
const promotePage = 500

// dueRow is a due message, with the columns that the promoter needs.
type dueRow struct {
	at, no int64
	key    string
}

// promotion is one round of moving due messages into the log.
type promotion struct {
	ob    *Outbox
	after dueRow
	// busy are the locks that a transaction held when the round reached them. The messages of
	// their keys stay for the next round: nothing waits, and a later message of a key does not
	// overtake an earlier one.
	busy map[int64]bool
	// stayed is set if due messages had to stay.
	stayed bool
	moved  int
}

// promote moves all due messages into the log. Any number of processes may do so: one works at a
// time.
func (o *Outbox) promote(ctx context.Context) (moved int, stayed bool, err error) {
	p := promotion{ob: o, busy: map[int64]bool{}}
	err = o.evenTimes(ctx)
	for more := true; more && err == nil; {
		before := p.moved
		err = o.log.Change(ctx, func(tx *sql.Tx) error {
			more, err = p.page(ctx, tx)
			return err
		})
		if err == nil && p.moved > before {
			moved = p.moved
			o.Wake()
		}
	}
	return moved, p.stayed, err
}

// evenTimes replaces times by other programs that are not whole microseconds. SQLite stores any
// value, and a text compares above all numbers: its message would never be due. A value that is
// not a time is due now.
func (o *Outbox) evenTimes(ctx context.Context) error {
	if !o.log.Dialect.OneWriter {
		return nil
	}
	for more := true; more; {
		at := map[int64]int64{}
		err := o.log.Look(ctx, func(q sqlstore.Querier) error {
			return sqlstore.Each(ctx, q, func(scan sqlstore.Scanner) error {
				var no int64
				var due sqllog.Micros
				err := scan(&no, &due)
				at[no] = due.Micros
				return err
			}, o.log.SQL["delayed_odd"], promotePage)
		})
		if err != nil || len(at) == 0 {
			return err
		}
		err = o.log.Change(ctx, func(tx *sql.Tx) error {
			for no, micros := range at {
				if _, err := sqlstore.Written(ctx, tx, o.log.SQL["delayed_even"], micros, no); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		more = len(at) == promotePage
	}
	return nil
}

// page moves one page in one transaction: locks first, then the numbers are drawn.
func (p *promotion) page(ctx context.Context, tx *sql.Tx) (more bool, err error) {
	mine, err := p.free(ctx, tx, []int64{promoterLock}) // no other process moves or cancels messages
	if err != nil || len(mine) == 0 {
		p.stayed = p.stayed || err == nil // another process is doing it
		return false, err
	}
	var due []dueRow
	err = sqlstore.Each(ctx, tx, func(scan sqlstore.Scanner) error {
		var r dueRow
		var key []byte
		err := scan(&r.at, &r.no, &key)
		r.key = string(key)
		due = append(due, r)
		return err
	}, p.ob.log.SQL["delayed_due"], p.after.at, p.after.at, p.after.no, promotePage)
	if err != nil || len(due) == 0 {
		return false, err
	}
	going, err := p.choose(ctx, tx, due)
	if err == nil && len(going) > 0 {
		err = sqlstore.RefuseReplica(ctx, tx, p.ob.log.Dialect) // their numbers are those of the source table
		if err == nil || errors.Is(err, sqlstore.ErrReplicaUnknown) {
			err = p.move(ctx, tx, going)
		}
	}
	p.after = due[len(due)-1]
	return len(due) == promotePage, err
}

// free takes the available locks.
func (p *promotion) free(ctx context.Context, tx *sql.Tx, locks []int64) ([]int64, error) {
	if p.ob.log.Dialect.OneWriter {
		return locks, nil
	}
	return p.ob.takeBuckets(ctx, tx, "lock_buckets_free", locks)
}

// choose returns the numbers of messages whose keys are free.
func (p *promotion) choose(ctx context.Context, tx *sql.Tx, due []dueRow) ([]int64, error) {
	wanted := map[int64]bool{}
	for i := range due {
		if b := p.ob.bucket(due[i].key); p.ordered(&due[i]) && !p.busy[b] {
			wanted[b] = true
		}
	}
	locks := slices.Sorted(maps.Keys(wanted))
	taken, err := p.free(ctx, tx, locks)
	if err != nil {
		return nil, err
	}
	for _, b := range taken {
		delete(wanted, b)
	}
	maps.Copy(p.busy, wanted)
	var going []int64
	for i := range due {
		if p.ordered(&due[i]) && p.busy[p.ob.bucket(due[i].key)] {
			p.stayed = true
			continue
		}
		going = append(going, due[i].no)
	}
	return going, nil
}

func (p *promotion) ordered(r *dueRow) bool { return r.key != "" && p.ob.locksKeys() }

// move inserts messages into the log and deletes them, one by one: with a list, the plan can
// become a scan, which waits for open transactions that have delayed a message. No other process
// deletes them: that requires the promoter's lock.
func (p *promotion) move(ctx context.Context, tx *sql.Tx, going []int64) error {
	var rows []sqllog.MessageRow
	next := sqllog.NewRecordScan()
	err := sqlstore.Each(ctx, tx, func(scan sqlstore.Scanner) error {
		r, err := next.Next(scan)
		if err != nil {
			return err
		}
		if r.OccurredAt.IsZero() {
			r.OccurredAt = r.CreatedAt
		}
		row, err := sqllog.RowOf(&r.Message, r.Shard)
		rows = append(rows, row)
		return err
	}, p.ob.log.SQL.With("delayed_take", sqldialect.Places(len(going))), sqlstore.Anys(going)...)
	if err == nil && len(rows) != len(going) {
		err = fmt.Errorf("leat: %d of %d delayed messages that are due were read", len(rows), len(going))
	}
	if err == nil {
		err = p.ob.log.InsertRows(ctx, tx, "enqueue", rows, func(int) []any { return nil })
	}
	for i := 0; err == nil && i < len(going); i++ {
		var n int64
		if n, err = sqlstore.Written(ctx, tx, p.ob.log.SQL["delayed_delete"], going[i]); err == nil && n != 1 {
			err = errors.New("leat: a delayed message was moved by two")
		}
	}
	p.moved += len(rows)
	return err
}

// untilDue returns when the next message is due, most at the latest.
func (o *Outbox) untilDue(ctx context.Context, most time.Duration) (time.Duration, error) {
	var left sql.NullFloat64 // other programs may have stored fractions in SQLite
	err := o.log.Look(ctx, func(q sqlstore.Querier) error { return q.QueryRowContext(ctx, o.log.SQL["delayed_next"]).Scan(&left) })
	if err != nil || !left.Valid {
		return most, err
	}
	return time.Duration(min(max(left.Float64*float64(time.Microsecond), 0), float64(most))), nil
}
