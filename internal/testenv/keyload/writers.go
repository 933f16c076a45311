// Package keyload writes events under load, and judges the events that a consumer received.
package keyload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// Event is the event with this Number of its key.
type Event struct {
	ID, Key string
	Number  int64
}

// Payload returns the event as JSON, as Judge reads it.
func (e Event) Payload() []byte {
	text, _ := json.Marshal(map[string]any{"key": e.Key, "number": e.Number}) // cannot fail
	return text
}

// Insert writes the events of a transaction.
type Insert func(ctx context.Context, tx pgx.Tx, events []Event) error

// Writers write events until they are stopped.
type Writers struct {
	pool                     *pgxpool.Pool
	insert                   Insert
	group                    sync.WaitGroup
	stop                     chan struct{}
	transactions, rolledBack atomic.Int64
}

// String describes the writers' progress.
func (w *Writers) String() string {
	return fmt.Sprintf("%d transactions, %d rolled back", w.transactions.Load(), w.rolledBack.Load())
}

// Start starts four writers, which end with the test if not before. A transaction increments one or two
// keys, in the order of the keys, so that the number of an event is its position in the order of the
// commits. It inserts the events in the opposite order. Every tenth transaction is rolled back. There are
// at most 200 a second, so that readers keep up.
func Start(t *testing.T, pool *pgxpool.Pool, insert Insert) *Writers {
	t.Helper()
	for _, sql := range []string{
		"CREATE TABLE counters (key text PRIMARY KEY, n bigint NOT NULL DEFAULT 0)",
		"INSERT INTO counters SELECT 'key ' || n FROM generate_series(1, 8) AS n",
	} {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	w := &Writers{pool: pool, insert: insert, stop: make(chan struct{})}
	turns := time.NewTicker(5 * time.Millisecond)
	t.Cleanup(turns.Stop)
	for range 4 {
		w.group.Go(func() {
			for {
				select {
				case <-w.stop:
					return
				case <-turns.C:
				}
				if err := w.transaction(t.Context()); err != nil {
					t.Errorf("a writer: %v", err)
					return
				}
			}
		})
	}
	t.Cleanup(w.finish)
	return w
}

var errRolledBack = errors.New("rolled back")

func (w *Writers) transaction(ctx context.Context) error {
	keys := []string{fmt.Sprint("key ", 1+rand.IntN(8)), fmt.Sprint("key ", 1+rand.IntN(8))}
	slices.Sort(keys)
	err := pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		var events []Event
		for _, key := range slices.Compact(keys) {
			e := Event{ID: uuid.NewString(), Key: key}
			err := tx.QueryRow(ctx, "UPDATE counters SET n = n + 1 WHERE key = $1 RETURNING n", key).Scan(&e.Number)
			if err != nil {
				return err
			}
			events = slices.Insert(events, 0, e)
		}
		if err := w.insert(ctx, tx, events); err != nil {
			return err
		}
		if rand.IntN(10) == 0 {
			return errRolledBack
		}
		return nil
	})
	if errors.Is(err, errRolledBack) {
		w.rolledBack.Add(1)
		return nil
	}
	w.transactions.Add(1)
	return err
}

// Load waits until n more transactions have committed.
func (w *Writers) Load(t *testing.T, n int64) {
	t.Helper()
	enough := w.transactions.Load() + n
	require.Eventually(t, func() bool { return w.transactions.Load() >= enough || t.Failed() }, 2*time.Minute, 20*time.Millisecond)
}

func (w *Writers) finish() {
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	w.group.Wait()
}

// End stops the writers and returns how many events of each key have committed.
func (w *Writers) End(t *testing.T) map[string]int64 {
	t.Helper()
	w.finish()
	rows, err := w.pool.Query(t.Context(), "SELECT key, n FROM counters")
	require.NoError(t, err)
	counts := map[string]int64{}
	var key string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&key, &n}, func() error { counts[key] = n; return nil })
	require.NoError(t, err)
	return counts
}
