package debezium_test

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
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	indebezium "github.com/leat-go/leat/inbox/debezium"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
)

// event is the number-th of its key.
type event struct {
	id, key string
	number  int64
}

func (e event) payload() []byte {
	text, _ := json.Marshal(map[string]any{"key": e.key, "number": e.number})
	return text
}

// inserter writes the events of a transaction.
type inserter func(ctx context.Context, tx pgx.Tx, events []event) error

// writers write until they are told to end.
type writers struct {
	group                    sync.WaitGroup
	stop                     chan struct{}
	transactions, rolledBack atomic.Int64
}

func (w *writers) String() string {
	return fmt.Sprintf("%d transactions, %d rolled back", w.transactions.Load(), w.rolledBack.Load())
}

// write starts four writers. A transaction counts one or two keys up, in the order of the
// keys, so that the number of an event is its place in the order of the commits; it inserts
// the events the other way round, and every tenth is rolled back.
func write(t *testing.T, db *testenv.Database, insert inserter) *writers {
	t.Helper()
	exec(t, db, "CREATE TABLE counters (key text PRIMARY KEY, n bigint NOT NULL DEFAULT 0)")
	exec(t, db, "INSERT INTO counters SELECT 'key ' || n FROM generate_series(1, 8) AS n")
	w := &writers{stop: make(chan struct{})}
	for range 4 {
		w.group.Go(func() {
			for {
				select {
				case <-w.stop:
					return
				default:
				}
				if err := w.transaction(t.Context(), db, insert); err != nil {
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

func (w *writers) transaction(ctx context.Context, db *testenv.Database, insert inserter) error {
	keys := []string{fmt.Sprint("key ", 1+rand.IntN(8)), fmt.Sprint("key ", 1+rand.IntN(8))}
	slices.Sort(keys)
	err := pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		var events []event
		for _, key := range slices.Compact(keys) {
			e := event{id: uuid.NewString(), key: key}
			err := tx.QueryRow(ctx, "UPDATE counters SET n = n + 1 WHERE key = $1 RETURNING n", key).Scan(&e.number)
			if err != nil {
				return err
			}
			events = slices.Insert(events, 0, e)
		}
		if err := insert(ctx, tx, events); err != nil {
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

// load waits until n more transactions have committed.
func (w *writers) load(t *testing.T, n int64) {
	t.Helper()
	enough := w.transactions.Load() + n
	eventually(t, "the writers are stuck", func() bool { return w.transactions.Load() >= enough || t.Failed() })
}

func (w *writers) finish() {
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	w.group.Wait()
}

// end stops the writers and returns how many events of each key have committed.
func (w *writers) end(t *testing.T, db *testenv.Database) map[string]int64 {
	t.Helper()
	w.finish()
	rows, err := db.Pool.Query(t.Context(), "SELECT key, n FROM counters")
	require.NoError(t, err)
	counts := map[string]int64{}
	var key string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&key, &n}, func() error { counts[key] = n; return nil })
	require.NoError(t, err)
	return counts
}

// judge reads topic until all that has committed is there: none is missing or made up, the
// first of each comes in the order of its key, and a repeat has the id of the first.
func judge(t *testing.T, r *realDebezium, topic string, committed map[string]int64) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(r.broker.Brokers...), kgo.ConsumeTopics(topic))
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var want, distinct, repeats int64
	for _, n := range committed {
		want += n
	}
	seen, ids := map[string]int64{}, map[string]string{}
	for distinct < want {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err(), "%d of %d have come\n%s", distinct, want, r.worker.Log())
		for _, record := range fetches.Records() {
			var e struct {
				Key    string
				Number int64
			}
			require.NoError(t, json.Unmarshal(record.Value, &e))
			msg, err := kafkasource.Unmarshal(record)
			require.NoError(t, err)
			id, err := indebezium.ID()(msg)
			require.NoError(t, err)
			place := fmt.Sprint(e.Key, "/", e.Number)
			if e.Number <= seen[e.Key] {
				repeats++
				require.Equal(t, ids[place], id, "%s is repeated with another id", place)
				continue
			}
			require.Equal(t, seen[e.Key]+1, e.Number, "of %s one is missing, or comes too late", e.Key)
			require.LessOrEqual(t, e.Number, committed[e.Key], "%s was rolled back", place)
			seen[e.Key], ids[place] = e.Number, id
			distinct++
		}
	}
	t.Logf("%d messages, %d repeats", distinct, repeats)
}
