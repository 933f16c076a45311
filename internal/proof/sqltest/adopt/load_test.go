package adopt_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/testenv/keyload"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/adopt"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// whole is a message as the column data contains it.
type whole struct {
	Key     string
	Headers []header
	Body    []byte
	Topic   string
}

type header struct{ Key, Value string }

// shape is a table of testdata/shapes.sql with its service: how producers insert, and what the old worker
// sends for a row.
type shape struct {
	table  string
	insert func(e keyload.Event) (statement string, args []any)
	rows   string // what the worker selects of those that are pending: the id, and a text for message
	sent   string // what it sets
	is     string // and what is set then
	// message is made of what the worker has selected.
	message func(id, text string) keyload.Arrival
}

func shapes() []shape {
	return []shape{
		{
			table: "outbox",
			insert: func(e keyload.Event) (string, []any) {
				data, _ := json.Marshal(whole{Key: e.Key, Topic: "orders", Body: e.Payload(), Headers: []header{{"traceparent", "00-1"}, {"lang", "é\"\\"}}})
				return "INSERT INTO outbox (id, data, state, created_on, number_of_attempts) VALUES (?, ?, 0, UTC_TIMESTAMP(), 0)", []any{e.ID, data}
			},
			rows: "id, data FROM outbox WHERE state = 0 ORDER BY created_on",
			sent: "state = 1, processed_on = UTC_TIMESTAMP()", is: "state = 1",
			message: func(id, text string) keyload.Arrival {
				var m whole
				_ = json.Unmarshal([]byte(text), &m)
				a := keyload.Arrival{ID: id, Topic: m.Topic, Key: m.Key, Payload: string(m.Body), Headers: map[string]string{}}
				for _, h := range m.Headers {
					a.Headers[h.Key] = h.Value
				}
				return a
			},
		},
		{
			table: "outbox_events",
			insert: func(e keyload.Event) (string, []any) {
				return "INSERT INTO outbox_events (aggregate_type, aggregate_id, event_type, payload) VALUES ('order', ?, 'paid', ?)", []any{e.Key, string(e.Payload())}
			},
			rows: "id, CONCAT(aggregate_type, '|', aggregate_id, '|', payload) FROM outbox_events WHERE sent_at IS NULL ORDER BY id",
			sent: "sent_at = now()", is: "sent_at IS NOT NULL",
			message: func(id, text string) keyload.Arrival {
				parts := strings.SplitN(text, "|", 3)
				return keyload.Arrival{ID: id, Topic: parts[0], Key: parts[1], Payload: parts[2]}
			},
		},
	}
}

// TestO1_TwoTables: two tables are taken over under load and given back, while the old worker runs and a
// job deletes what it has sent. Nothing is lost, and each message equals what the old worker sends.
func TestO1_TwoTables(t *testing.T) {
	t.Parallel()
	for _, s := range shapes() {
		t.Run(s.table, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, db database) {
				t.Helper()
				takenOver(t, db, s)
			})
		})
	}
}

func takenOver(t *testing.T, db database, s shape) {
	t.Helper()
	table := db.recognized(t, adopt.Config{Table: s.table, LockTimeout: 20 * time.Second})
	var broker keyload.Stream
	writers := write(t, db, s)
	writers.load(t)
	stopWorker := s.work(t, db, &broker)
	require.NoError(t, table.Adopt(t.Context()))
	stopRelay := relaying(t, db, &broker)
	writers.load(t)
	stopWorker()
	writers.load(t)

	require.NoError(t, table.Release(t.Context()))
	stopWorker = s.work(t, db, &broker)
	writers.load(t)
	committed := writers.end(t)
	// Rows of the first table have whole seconds: of those that were pending, the order is that of the ids.
	repeats := broker.Judge(t, committed, "leat", s.table == "outbox_events")
	require.Eventually(t, func() bool { return len(db.column(t, "SELECT id FROM "+s.table+" WHERE NOT ("+s.is+")")) == 0 }, time.Minute, 10*time.Millisecond)
	stopWorker()
	stopRelay()
	require.Positive(t, repeats, "both have sent some")
}

// writers do the same as keyload's, on MySQL.
type writers struct {
	db           database
	shape        shape
	stop         chan struct{}
	group        sync.WaitGroup
	transactions atomic.Int64
}

func write(t *testing.T, db database, s shape) *writers {
	t.Helper()
	db.exec(t, "CREATE TABLE counters (k VARCHAR(20) PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB")
	for n := range 8 {
		db.exec(t, "INSERT INTO counters VALUES (?, 0)", fmt.Sprint("key ", n))
	}
	w := &writers{db: db, shape: s, stop: make(chan struct{})}
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
				if err := w.transaction(t.Context()); err != nil && !sqldialect.Locked(err) { // with the job that deletes
					t.Errorf("a writer: %v", err)
					return
				}
			}
		})
	}
	t.Cleanup(w.finish)
	return w
}

func (w *writers) transaction(ctx context.Context) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	keys := []string{fmt.Sprint("key ", rand.IntN(8)), fmt.Sprint("key ", rand.IntN(8))}
	slices.Sort(keys)
	var events []keyload.Event
	for _, key := range slices.Compact(keys) {
		e := keyload.Event{ID: uuid.NewString(), Key: key}
		if _, err := tx.ExecContext(ctx, "UPDATE counters SET n = n + 1 WHERE k = ?", key); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, "SELECT n FROM counters WHERE k = ?", key).Scan(&e.Number); err != nil {
			return err
		}
		events = slices.Insert(events, 0, e)
	}
	for _, e := range events {
		statement, args := w.shape.insert(e)
		if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
			return err
		}
	}
	if rand.IntN(10) == 0 {
		return nil // rolled back
	}
	w.transactions.Add(1)
	return tx.Commit()
}

// load waits until 50 more transactions have committed.
func (w *writers) load(t *testing.T) {
	t.Helper()
	enough := w.transactions.Load() + 50
	require.Eventually(t, func() bool { return w.transactions.Load() >= enough || t.Failed() }, 2*time.Minute, 20*time.Millisecond)
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
func (w *writers) end(t *testing.T) map[string]int64 {
	t.Helper()
	w.finish()
	counts := map[string]int64{}
	for _, pair := range w.db.column(t, "SELECT CONCAT(k, '=', n) FROM counters") {
		key, n, _ := strings.Cut(pair, "=")
		number, err := strconv.ParseInt(n, 10, 64)
		require.NoError(t, err)
		counts[key] = number
	}
	return counts
}

// work runs the old worker and the job that deletes sent rows, until the returned function is called.
func (s shape) work(t *testing.T, db database, broker *keyload.Stream) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	turns := time.NewTicker(10 * time.Millisecond)
	go func() {
		defer turns.Stop()
		for {
			select {
			case <-ctx.Done():
				ended <- nil
				return
			case <-turns.C:
			}
			if err := s.turn(ctx, db, broker); err != nil && ctx.Err() == nil && !sqldialect.Locked(err) { // that is tried again
				t.Errorf("the old worker: %v", err)
			}
		}
	}()
	return func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

func (s shape) turn(ctx context.Context, db database, broker *keyload.Stream) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	rows, err := tx.QueryContext(ctx, "SELECT "+s.rows+" LIMIT 20 FOR UPDATE SKIP LOCKED")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var all []keyload.Arrival
	for rows.Next() {
		var id, text string
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		all = append(all, s.message(id, text))
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, a := range all {
		arrive(broker, "worker", a)
		if _, err := tx.ExecContext(ctx, "UPDATE "+s.table+" SET "+s.sent+" WHERE id = ?", a.ID); err != nil {
			return err
		}
	}
	if _, err = tx.ExecContext(ctx, "DELETE FROM "+s.table+" WHERE id < '7' AND "+s.is+" LIMIT 10"); err != nil {
		return err
	}
	return tx.Commit()
}

func arrive(broker *keyload.Stream, from string, a keyload.Arrival) {
	a.From = from
	_ = json.Unmarshal([]byte(a.Payload), &a.Event) // what is none is made up, to the judge
	broker.Add(a)
}

// relaying runs a relay until the returned function is called.
func relaying(t *testing.T, db database, broker *keyload.Stream) (stop func()) {
	t.Helper()
	source, err := db.ob.Source(sqloutbox.SourceConfig{Start: driver.Start{Oldest: true}})
	require.NoError(t, err)
	sink, err := relay.Func(func(_ context.Context, r outbox.Record) error {
		arrive(broker, "leat", keyload.Arrival{ID: r.ID, Topic: r.Topic, Key: r.Key, Payload: string(r.Payload), Headers: r.Headers})
		return nil
	}, relay.FuncConfig{})
	require.NoError(t, err)
	relays, err := relay.New(source, sink, relay.Config{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- relays.Run(ctx) }()
	return func() {
		cancel()
		require.NoError(t, <-ended)
	}
}
