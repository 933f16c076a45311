package pgoutbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"weak"

	"github.com/jackc/pgx/v5"
)

// ErrTooManyKeys is returned by Enqueue in a transaction that has locked as many keys as
// Config.MaxKeyLocks allows, in calls of its own. Nothing of the call was written. Pass
// all messages to one call, which locks the outbox as a whole beyond MaxKeyLocks keys, or
// commit in between.
var ErrTooManyKeys = errors.New("leat: the transaction has locked too many keys")

// keyLocks are the keys that were locked through one connection or transaction, since it
// was last asked which it still holds. The server's lock table is one for the whole
// cluster: the transaction that fills it makes the others fail.
type keyLocks struct {
	asked []int64 // with repeats
}

// heldFunc asks the server which of locks the transaction holds.
type heldFunc func(ctx context.Context, locks []int64) ([]int64, error)

// take notes that the transaction is about to lock keys. Only when what was asked for since
// the last look comes to limit, the server is asked: that some of it belonged to
// transactions that have ended, or to savepoints that were rolled back, cannot be known here.
func (k *keyLocks) take(ctx context.Context, keys []int64, limit int, held heldFunc) error {
	if len(k.asked)+len(keys) <= limit {
		k.asked = append(k.asked, keys...)
		return nil
	}
	all := union(k.asked, keys)
	if len(all) > limit/2 { // else it is the same few keys again and again
		kept, err := held(ctx, union(k.asked, nil))
		if err != nil {
			return err
		}
		k.asked, all = kept, union(kept, keys)
	}
	if len(all) > limit {
		return tooManyKeys(len(all), limit)
	}
	k.asked = all
	return nil
}

func tooManyKeys(n, limit int) error {
	return fmt.Errorf("%w: %d, and Config.MaxKeyLocks = %d: pass all messages to one call of Enqueue, or commit in between",
		ErrTooManyKeys, n, limit)
}

// union returns what is in a or b, each once, in a slice of its own.
func union(a, b []int64) []int64 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// heldIn is the heldFunc of tx.
func (o *Outbox) heldIn(tx pgx.Tx) heldFunc {
	return func(ctx context.Context, locks []int64) ([]int64, error) {
		rows, err := tx.Query(ctx, o.sql.locksHeld, locks)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowTo[int64])
	}
}

// heldInSQL is the heldFunc of tx. It passes the array as text, as any driver can.
func (o *Outbox) heldInSQL(tx *sql.Tx) heldFunc {
	return func(ctx context.Context, locks []int64) (held []int64, err error) {
		texts := make([]string, len(locks))
		for i, l := range locks {
			texts[i] = strconv.FormatInt(l, 10)
		}
		rows, err := tx.QueryContext(ctx, o.sql.locksHeld, "{"+strings.Join(texts, ",")+"}")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var h int64
			if err := rows.Scan(&h); err != nil {
				return nil, err
			}
			held = append(held, h)
		}
		return held, rows.Err()
	}
}

// sqlLocks are the keyLocks of transactions of database/sql, which does not show their
// connections. A transaction that is no longer reachable leaves it.
type sqlLocks struct {
	mu sync.Mutex
	of map[weak.Pointer[sql.Tx]]*keyLocks
}

func (s *sqlLocks) find(tx *sql.Tx) *keyLocks {
	p := weak.Make(tx)
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.of[p]
	if !ok {
		k = &keyLocks{}
		if s.of == nil {
			s.of = map[weak.Pointer[sql.Tx]]*keyLocks{}
		}
		s.of[p] = k
		runtime.AddCleanup(tx, s.forget, p)
	}
	return k
}

func (s *sqlLocks) forget(p weak.Pointer[sql.Tx]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, p)
}

// takeQueued refuses keys that, with those of the statements of this outbox that batch holds
// already, are too many.
func (o *Outbox) takeQueued(batch *pgx.Batch, keys []int64) error {
	queued := func(yield func([]int64)) {
		for _, q := range batch.QueuedQueries {
			if q.SQL != o.one.checked && q.SQL != o.sql.enqueue && q.SQL != o.later.enqueue {
				continue
			}
			if locks, ok := q.Arguments[0].([]int64); ok && len(locks) > 1 {
				yield(locks[1:])
			}
		}
	}
	n := len(keys)
	queued(func(locks []int64) { n += len(locks) })
	if n <= o.cfg.MaxKeyLocks {
		return nil
	}
	all := slices.Clone(keys)
	queued(func(locks []int64) { all = append(all, locks...) })
	if all = union(all, nil); len(all) > o.cfg.MaxKeyLocks {
		return tooManyKeys(len(all), o.cfg.MaxKeyLocks)
	}
	return nil
}
