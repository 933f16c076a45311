package pgoutbox

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/keyhash"
)

// promotePage is the number of messages that one transaction moves into the log.
const promotePage = 500

// dueRow is a message that is due, as far as the promoter needs to see it.
type dueRow struct {
	at  time.Time
	no  int64
	key *string
}

// promotion is one round of moving due messages into the log.
type promotion struct {
	ob    *Outbox
	after dueRow
	// busy are the keys of which a transaction was open when the round came to
	// them. Their messages stay for the next round: nothing waits, and a later
	// message of the key does not overtake an earlier one.
	busy map[string]bool
	// moved is the number of messages that are in the log now.
	moved int64
}

// promote moves all messages that are due into the log, and says how many there were
// and whether some had to stay. Any number of processes may do so at once; one is
// enough.
func (o *Outbox) promote(ctx context.Context) (moved int64, stayed bool, err error) {
	p := promotion{ob: o, busy: map[string]bool{}, after: dueRow{at: time.Unix(0, 0)}}
	for more := true; more && err == nil; {
		more, err = p.page(ctx)
		if err == nil && p.moved > moved {
			moved = p.moved
			o.Wake()
		}
	}
	return moved, len(p.busy) > 0, describe(err)
}

// page moves one page in one transaction.
func (p *promotion) page(ctx context.Context) (more bool, err error) {
	limit := min(promotePage, p.ob.cfg.MaxKeyLocks)
	var moved int64
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	err = pgx.BeginTxFunc(ctx, p.ob.pool, opts, func(tx pgx.Tx) error {
		due, err := p.due(ctx, tx, limit)
		if err != nil || len(due) == 0 {
			return err
		}
		more, p.after = len(due) == limit, due[len(due)-1]
		if due, err = p.free(ctx, tx, due); err != nil || len(due) == 0 {
			return err
		}
		at, no := make([]time.Time, len(due)), make([]int64, len(due))
		for i, r := range due {
			at[i], no[i] = r.at, r.no
		}
		tag, err := tx.Exec(ctx, p.ob.later.promote, at, no)
		moved = tag.RowsAffected()
		return err
	})
	if err == nil {
		p.moved += moved
	}
	return more, err
}

func (p *promotion) due(ctx context.Context, tx pgx.Tx, limit int) ([]dueRow, error) {
	rows, err := tx.Query(ctx, p.ob.later.due, p.after.at, p.after.no, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r dueRow, err error) {
		err = row.Scan(&r.at, &r.no, &r.key)
		return r, err
	})
}

// free takes the locks that are to be had and returns the rows that may go.
func (p *promotion) free(ctx context.Context, tx pgx.Tx, due []dueRow) ([]dueRow, error) {
	if keys := p.lockOf(due); len(keys) > 0 {
		had := map[int64]bool{}
		locks := slices.Insert(slices.Compact(slices.Sorted(maps.Values(keys))), 0, p.ob.wholeBox)
		rows, err := tx.Query(ctx, p.ob.later.locks, locks, p.ob.wholeBox)
		if err != nil {
			return nil, err
		}
		var lock int64
		var ok bool
		if _, err := pgx.ForEachRow(rows, []any{&lock, &ok}, func() error { had[lock] = ok; return nil }); err != nil {
			return nil, err
		}
		for key, lock := range keys {
			if !had[p.ob.wholeBox] || !had[lock] {
				p.busy[key] = true
			}
		}
	}
	return slices.DeleteFunc(due, func(r dueRow) bool { return r.key != nil && p.busy[*r.key] }), nil
}

// lockOf returns the locks of the keys of due that were not busy before.
func (p *promotion) lockOf(due []dueRow) map[string]int64 {
	keys := map[string]int64{}
	if p.ob.cfg.UnorderedKeys {
		return keys
	}
	table := p.ob.cfg.names().Qualified("")
	for _, r := range due {
		if r.key != nil && !p.busy[*r.key] {
			keys[*r.key] = keyhash.Lock("outbox", table, *r.key)
		}
	}
	return keys
}
