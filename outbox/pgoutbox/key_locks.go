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

// keyLocks are the keys that were locked through one connection or transaction, since the last
// query for those still held. The whole cluster shares one lock table: a transaction that fills
// it makes the others fail. See rule N5.
type keyLocks struct {
	asked  []int64 // with repeats
	simple bool    // the connection speaks the simple protocol, where several statements are one text
}

// heldFunc asks the server which of locks the transaction holds.
type heldFunc func(ctx context.Context, locks []int64) ([]int64, error)

// take records that the transaction is about to lock keys. The server is only asked when the
// number of keys since the last query reaches limit: some of them may have belonged to
// transactions that have ended, or to savepoints that were rolled back, which cannot be known
// here.
func (k *keyLocks) take(ctx context.Context, keys []int64, limit int, held heldFunc) error {
	if len(k.asked)+len(keys) <= limit {
		k.asked = append(k.asked, keys...)
		return nil
	}
	all := union(k.asked, keys)
	if len(all) > limit/2 { // otherwise it is the same few keys again and again
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

// union returns what is in a or b, each once, in a new slice.
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

// heldInSQL is the heldFunc of tx. It passes the array as text, which works with any driver.
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

// weakly keeps a value for each pointer, for as long as what it points to is reachable.
// It is safe for concurrent use; its values are not.
type weakly[K, V any] struct {
	mu sync.Mutex
	of map[weak.Pointer[K]]*V
}

func (w *weakly[K, V]) find(key *K) *V {
	p := weak.Make(key)
	w.mu.Lock()
	defer w.mu.Unlock()
	v, ok := w.of[p]
	if !ok {
		v = new(V)
		if w.of == nil {
			w.of = map[weak.Pointer[K]]*V{}
		}
		w.of[p] = v
		runtime.AddCleanup(key, w.forget, p)
	}
	return v
}

func (w *weakly[K, V]) forget(p weak.Pointer[K]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, p)
}

// queuedKeys are the keys that the statements of one outbox in a batch lock.
type queuedKeys struct {
	set map[int64]struct{}
}

// takeQueued records that batch is about to lock keys, or refuses them if there are too many with
// those that it locks already.
func (o *Outbox) takeQueued(batch *pgx.Batch, keys []int64) error {
	q := o.queuedKeys.find(batch)
	if len(batch.QueuedQueries) == 0 { // a new one, or one that was emptied to be used again
		q.set = make(map[int64]struct{}, len(keys))
	}
	more := 0
	for _, k := range keys { // each occurs once
		if _, ok := q.set[k]; !ok {
			more++
		}
	}
	if n := len(q.set) + more; n > o.cfg.MaxKeyLocks {
		return tooManyKeys(n, o.cfg.MaxKeyLocks)
	}
	if q.set == nil {
		q.set = make(map[int64]struct{}, len(keys))
	}
	for _, k := range keys {
		q.set[k] = struct{}{}
	}
	return nil
}
