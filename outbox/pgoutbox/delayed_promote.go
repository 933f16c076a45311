package pgoutbox

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/pgerr"
)

// promotePage is the number of messages that one transaction moves into the log.
const promotePage = 500

// promoteSettings bound how long a promoter can wait, and how long producers can wait for the
// keys that it holds, even if it hangs.
const promoteSettings = "SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = '30s'; " +
	"SET LOCAL idle_in_transaction_session_timeout = '10s'; SET LOCAL row_security = off"

// dueRow is a due message, with the columns that the promoter needs.
type dueRow struct {
	at  time.Time
	no  int64
	key *string
}

// promotion is one round of moving due messages into the log.
type promotion struct {
	ob    *Outbox
	after dueRow
	// busy are the keys that an open transaction had locked when the round reached them. Their
	// messages stay for the next round: nothing waits, and a later message of the key does not
	// overtake an earlier one.
	busy map[string]bool
	// stayed reports whether due messages had to stay.
	stayed bool
	// moved is the number of messages that were moved into the log.
	moved int64
}

// promote moves all due messages into the log. It returns their number, and whether some had to
// stay. Any number of processes may do so at once; one is enough.
func (o *Outbox) promote(ctx context.Context) (moved int64, stayed bool, err error) {
	p := promotion{ob: o, busy: map[string]bool{}, after: dueRow{at: time.Unix(0, 0)}}
	for more := true; more && err == nil; {
		more, err = p.page(ctx)
		if err == nil && p.moved > moved {
			moved = p.moved
			o.Wake()
		}
	}
	return moved, p.stayed, describe(err)
}

// page moves one page in one transaction.
func (p *promotion) page(ctx context.Context) (more bool, err error) {
	limit := min(promotePage, p.ob.cfg.MaxKeyLocks)
	due, err := p.due(ctx, limit)
	if err != nil || len(due) == 0 {
		return false, err
	}
	moved, err := p.move(ctx, due)
	if pgerr.Is(err, pgerr.LockNotAvailable, pgerr.DeadlockDetected) {
		p.hold(due) // another process holds a row: the next round sees the result
		moved, err = 0, nil
	}
	p.moved += moved
	p.after = due[len(due)-1]
	return len(due) == limit, err
}

func (p *promotion) due(ctx context.Context, limit int) ([]dueRow, error) {
	var due []dueRow
	batch := &pgx.Batch{}
	batch.Queue(p.ob.sql.pageSettings)
	batch.Queue(p.ob.sql.delayedDue, p.after.at, p.after.no, limit).Query(func(rows pgx.Rows) (err error) {
		due, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r dueRow, err error) {
			err = row.Scan(&r.at, &r.no, &r.key)
			return r, err
		})
		return err
	})
	err := p.ob.pool.SendBatch(ctx, batch).Close()
	return due, err
}

// move takes the available locks and moves the messages that may go then.
func (p *promotion) move(ctx context.Context, due []dueRow) (moved int64, err error) {
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	err = pgx.BeginTxFunc(ctx, p.ob.pool, opts, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, promoteSettings); err != nil {
			return err
		}
		free, err := p.free(ctx, tx, due)
		if err != nil {
			return err
		}
		last := due[len(due)-1]
		tag, err := tx.Exec(ctx, p.ob.sql.delayedPromote, p.after.at, p.after.no, last.at, last.no, free)
		moved = tag.RowsAffected()
		return err
	})
	return moved, err
}

// free takes the available locks and returns the keys whose messages may go, nil for all of them.
func (p *promotion) free(ctx context.Context, tx pgx.Tx, due []dueRow) ([]string, error) {
	if p.ob.cfg.UnorderedKeys {
		return nil, nil
	}
	had := map[int64]bool{}
	keys := p.lockOf(due)
	if len(keys) > 0 {
		locks := slices.Insert(slices.Compact(slices.Sorted(maps.Values(keys))), 0, p.ob.wholeBox)
		rows, err := tx.Query(ctx, p.ob.sql.delayedLocks, locks, p.ob.wholeBox)
		if err != nil {
			return nil, err
		}
		var lock int64
		var ok bool
		if _, err := pgx.ForEachRow(rows, []any{&lock, &ok}, func() error { had[lock] = ok; return nil }); err != nil {
			return nil, err
		}
	}
	free := make([]string, 0, len(keys))
	for key, lock := range keys {
		if had[p.ob.wholeBox] && had[lock] {
			free = append(free, key)
		} else {
			p.busy[key] = true
		}
	}
	p.stayed = p.stayed || slices.ContainsFunc(due, func(r dueRow) bool { return r.key != nil && p.busy[*r.key] })
	return free, nil
}

// hold keeps the messages of due, and the later ones of their keys, for the next round.
func (p *promotion) hold(due []dueRow) {
	p.stayed = true
	for _, r := range due {
		if r.key != nil {
			p.busy[*r.key] = true
		}
	}
}

// lockOf returns the locks of the keys of due that were not busy before.
func (p *promotion) lockOf(due []dueRow) map[string]int64 {
	keys := map[string]int64{}
	table := p.ob.cfg.names().Qualified("")
	for _, r := range due {
		if r.key != nil && !p.busy[*r.key] {
			keys[*r.key] = keyhash.Lock("outbox", table, *r.key)
		}
	}
	return keys
}
