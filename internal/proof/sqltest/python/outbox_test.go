package python_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// transactions is the number of transactions of each producer.
const transactions = 40

// TestProducers: producers in Python and in Go number the messages of the same keys, under the locks of
// these keys. The messages that a relay publishes for a key have the numbers 1, 2, 3 and so on.
func TestProducers(t *testing.T) {
	t.Parallel()
	onEach(t, func(s *shop) {
		ob := s.outbox()
		s.exec("CREATE TABLE numbers (k VARCHAR(10) NOT NULL, n INT NOT NULL)")
		broker := s.relay(ob)
		p := s.start("produce", "orders", strconv.Itoa(transactions))
		require.True(s.t, p.out.Scan(), "%v", &p.stderr) // it has begun
		var producers errgroup.Group
		for range 2 {
			producers.Go(func() error { return s.produce(ob) })
		}
		require.NoError(s.t, producers.Wait())
		p.end()

		m, err := sqloutbox.NewMaintenance(ob, sqloutbox.MaintenanceConfig{Retention: -1})
		require.NoError(s.t, err)
		_, err = m.RunOnce(s.ctx)
		require.NoError(s.t, err)
		var want, numbers int
		require.NoError(s.t, s.db.QueryRowContext(s.ctx, "SELECT COUNT(*) FROM leat_outbox WHERE shard >= 0").Scan(&want))
		require.NoError(s.t, s.db.QueryRowContext(s.ctx, "SELECT COUNT(*) FROM numbers").Scan(&numbers))
		log, err := broker.AwaitDistinct(s.ctx, want)
		require.NoError(s.t, err)
		s.checkNumbers(log, numbers)
	})
}

// checkNumbers checks what was published, and that Python's part of it is complete.
func (s *shop) checkNumbers(log []outbox.Record, numbers int) {
	s.t.Helper()
	last, others, python, found := map[string]int{}, []string{}, 0, 0
	for _, r := range log {
		if r.Headers["from"] == "Python" {
			python++
			require.Equal(s.t, "made", r.Type)
		}
		n, err := strconv.Atoi(string(r.Payload))
		if err == nil {
			found++
			last[r.Key]++
			require.Equal(s.t, last[r.Key], n, "of key %s", r.Key)
		} else if len(r.Payload) > 0 {
			others = append(others, r.Key+":"+string(r.Payload))
		}
	}
	slices.Sort(others)
	require.Equal(s.t, []string{":unordered", "late:delayed"}, others)
	require.Equal(s.t, numbers, found)
	require.Greater(s.t, python, transactions)
	require.Greater(s.t, len(log)-python, transactions)
}

// produce does the same as produce in leat.py, with the library.
func (s *shop) produce(ob *sqloutbox.Outbox) error {
	for n := range transactions {
		keys := rand.Perm(3)[:1+n%2]
		err := ob.InTx(s.ctx, func(ctx context.Context, tx *sql.Tx) error {
			var locking []outbox.Message
			for _, k := range keys {
				locking = append(locking, outbox.Message{Topic: "orders", Key: "k" + strconv.Itoa(k)})
			}
			if err := ob.Enqueue(ctx, tx, locking...); err != nil {
				return err
			}
			for _, m := range locking {
				if err := number(ctx, tx, ob, m); err != nil {
					return err
				}
			}
			if n%10 == 9 {
				return errRollBack
			}
			return nil
		})
		if err != nil && !errors.Is(err, errRollBack) {
			return err
		}
	}
	return nil
}

var errRollBack = errors.New("rolled back on purpose")

// number enqueues the next number of a locked key.
func number(ctx context.Context, tx *sql.Tx, ob *sqloutbox.Outbox, m outbox.Message) error {
	var last int
	if err := tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(n), 0) FROM numbers WHERE k = ?", []byte(m.Key)).Scan(&last); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO numbers (k, n) VALUES (?, ?)", []byte(m.Key), last+1); err != nil {
		return err
	}
	m.Payload = []byte(strconv.Itoa(last + 1))
	return ob.Enqueue(ctx, tx, m)
}

// relay publishes the messages of the outbox until the test ends.
func (s *shop) relay(ob *sqloutbox.Outbox) *outboxtest.Broker {
	s.t.Helper()
	source, err := ob.Source(sqloutbox.SourceConfig{})
	require.NoError(s.t, err)
	broker := outboxtest.NewBroker()
	r, err := relay.New(source, broker.Sink(), relay.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(s.t, err)
	ctx, cancel := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		require.NoError(s.t, <-ended)
	})
	return broker
}

// TestTrigger: the trigger on the documentation page locks the keys of its rows as the library does.
func TestTrigger(t *testing.T) {
	t.Parallel()
	onEach(t, func(s *shop) {
		if s.dialect == outbox.SQLite {
			s.t.Skip("has no functions of its own")
		}
		ob := s.outbox()
		s.exec("CREATE TABLE orders (id INT PRIMARY KEY, customer VARCHAR(50) CHARACTER SET utf8mb4 NOT NULL)")
		s.start("create", "function_fnv", "function_shard", "function_bucket", "trigger").end()
		s.exec("INSERT INTO orders VALUES (7, 'Zoë')")
		tx, err := s.db.BeginTx(s.ctx, nil)
		require.NoError(s.t, err)
		_, err = tx.ExecContext(s.ctx, "INSERT INTO orders VALUES (8, 'Zoë')")
		require.NoError(s.t, err)
		var locked int
		err = s.db.QueryRowContext(s.ctx, "SELECT bucket FROM leat_outbox_locks WHERE bucket = leat_bucket('Zoë') FOR UPDATE SKIP LOCKED").Scan(&locked)
		require.ErrorIs(s.t, err, sql.ErrNoRows)
		require.NoError(s.t, tx.Rollback())

		log, err := s.relay(ob).AwaitDistinct(s.ctx, 1)
		require.NoError(s.t, err)
		require.Len(s.t, log, 1)
		require.Equal(s.t, []string{"orders", "Zoë", "placed"}, []string{log[0].Topic, log[0].Key, log[0].Type})
		require.JSONEq(s.t, `{"order": 7}`, string(log[0].Payload))
	})
}
