package benchmarks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// BenchmarkFootprint measures what an event costs beside time: bytes of table
// (table-B/event), of index (index-B/event) and of write-ahead log (WAL-B/event) when
// it is enqueued, one event a transaction, the log that its relay adds
// (relay-WAL-B/event), and what both use of the processors in this process
// (cpu-us/msg, relay-cpu-us/msg). Forwarder is Watermill's, with the default schema of
// watermill-sql; watermill-sql is that schema without the forwarder's envelope, in the
// table that a subscriber of the topic would read, and without a relay.
//
// The server is of the benchmark's own and does nothing else: no checkpoint and no
// vacuum comes between. It writes no page as a whole into its log, since how often it
// would depends on how often there is a checkpoint, and it need not wait for its disk,
// which no byte depends on.
func BenchmarkFootprint(b *testing.B) {
	size := scale(b).footprint
	broker := testenv.RealKafka(b)
	server := testenv.PrivatePostgres(b, testenv.PostgresOptions{Settings: map[string]string{
		"autovacuum": "off", "full_page_writes": "off", "fsync": "off", "max_wal_size": "16GB", "checkpoint_timeout": "1h",
	}})
	for _, bytes := range []int{100, 1_000} {
		b.Run(fmt.Sprintf("bytes=%d", bytes), func(b *testing.B) { footprint(b, server, broker, size, bytes) })
	}
}

// store is where a contender keeps events, and how they get out of it.
type store struct {
	enqueue insert
	// rows counts the events, tables are the names of what holds them.
	rows, tables string
	// relay sends all events to Kafka; nil where there is none.
	relay func(ctx context.Context, want int) (time.Duration, error)
}

func footprint(b *testing.B, server *testenv.PostgresServer, broker *testenv.KafkaEnv, size size, bytes int) {
	b.Helper()
	logSettings(b, server.Database(b), broker)
	topic := broker.Topic(b, fmt.Sprintf("footprint-%d", bytes), 8)
	messages, err := load.Messages(load.Spec{Messages: size.transactions, Bytes: bytes, Keys: min(1_000, size.transactions), Topic: topic})
	require.NoError(b, err)
	arrived, costs := countTopic(b, broker, topic), costs{}
	contender := func(name string, open func(b *testing.B, db *testenv.Database, broker *testenv.KafkaEnv) store) compare.Contender {
		return compare.Contender{Name: name, Ops: len(messages), Run: func(int) (time.Duration, error) {
			db := server.Database(b, migrated())
			kept := open(b, db, broker)
			took, err := costs.ofEnqueue(b, name, db, kept, messages)
			if err == nil && kept.relay != nil {
				err = arrived.during(b.Context(), len(messages), func() error { return costs.ofRelay(b, name, db, kept, len(messages)) })
			}
			db.Pool.Close()
			return took, err
		}}
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "tx/s",
		contender("leat", leatStore), contender("forwarder", forwarderStore), contender("watermill-sql", plainStore),
	)
	b.StopTimer()
	costs.report(b)
}

func leatStore(b *testing.B, db *testenv.Database, broker *testenv.KafkaEnv) store {
	b.Helper()
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	return store{
		enqueue: ob.Enqueue, rows: "leat.outbox", tables: `^outbox_(p\d+|tail)$`,
		relay: func(ctx context.Context, want int) (time.Duration, error) {
			return drainLeat(ctx, ob, broker.Brokers, "footprint", want)
		},
	}
}

func forwarderStore(b *testing.B, db *testenv.Database, broker *testenv.KafkaEnv) store {
	b.Helper()
	fwd := rival.NewForwarder(db.Pool, broker.Brokers, rival.BestForwarder())
	require.NoError(b, fwd.Migrate(b.Context()))
	return store{
		enqueue: fwd.Enqueue, rows: "watermill_forwarder", tables: "^watermill_forwarder$",
		relay: func(ctx context.Context, want int) (time.Duration, error) { return fwd.Drain(ctx, "footprint", want) },
	}
}

func plainStore(b *testing.B, db *testenv.Database, broker *testenv.KafkaEnv) store {
	b.Helper()
	fwd := rival.NewForwarder(db.Pool, broker.Brokers, rival.BestForwarder())
	require.NoError(b, fwd.MigratePlain(b.Context()))
	return store{enqueue: fwd.Insert, rows: rival.PlainTable, tables: "^" + rival.PlainTable + "$"}
}

// costs collects what an event costs, by contender and unit.
type costs struct {
	order  []results.Series
	values map[results.Series][]float64
}

func (c *costs) add(contender, unit string, value float64) {
	if c.values == nil {
		c.values = map[results.Series][]float64{}
	}
	s := results.Series{Contender: contender, Unit: unit}
	if _, ok := c.values[s]; !ok {
		c.order = append(c.order, s)
	}
	c.values[s] = append(c.values[s], value)
}

// report reports the medians, and records all.
func (c *costs) report(b *testing.B) {
	b.Helper()
	for _, s := range c.order {
		b.ReportMetric(compare.Median(c.values[s]), s.Contender+"-"+s.Unit)
		results.Record(b, s.Contender, s.Unit, c.values[s]...)
	}
}

// ofEnqueue enqueues messages, one a transaction, and one after the other: where several
// clients meet, Postgres adds pages to a table in advance, by chance more or less.
func (c *costs) ofEnqueue(
	b *testing.B, name string, db *testenv.Database, kept store, messages []outbox.Message,
) (time.Duration, error) {
	b.Helper()
	first := c.take(b, db, kept)
	took, err := concurrently(b.Context(), 1, len(messages), func(ctx context.Context, i int) error {
		return pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error { return kept.enqueue(ctx, tx, messages[i]) })
	})
	if err != nil {
		return 0, err
	}
	last := c.take(b, db, kept)
	var rows int
	require.NoError(b, db.Pool.QueryRow(b.Context(), "SELECT count(*) FROM "+kept.rows).Scan(&rows))
	require.Len(b, messages, rows, "events that %s holds", name)
	events := float64(len(messages))
	c.add(name, "table-B/event", float64(last.tables-first.tables)/events)
	c.add(name, "index-B/event", float64(last.indexes-first.indexes)/events)
	c.add(name, "WAL-B/event", float64(last.wal-first.wal)/events)
	c.add(name, "cpu-us/msg", (last.cpu-first.cpu).Seconds()*1e6/events)
	return took, nil
}

// ofRelay relays them.
func (c *costs) ofRelay(b *testing.B, name string, db *testenv.Database, kept store, events int) error {
	b.Helper()
	first := c.take(b, db, kept)
	if _, err := kept.relay(b.Context(), events); err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	last := c.take(b, db, kept)
	c.add(name, "relay-WAL-B/event", float64(last.wal-first.wal)/float64(events))
	c.add(name, "relay-cpu-us/msg", (last.cpu-first.cpu).Seconds()*1e6/float64(events))
	return nil
}

// reading is what was used so far.
type reading struct {
	tables, indexes, wal int64
	cpu                  time.Duration
}

func (*costs) take(b *testing.B, db *testenv.Database, kept store) (r reading) {
	b.Helper()
	require.NoError(b, db.Pool.QueryRow(b.Context(), `
		SELECT coalesce(sum(pg_table_size(c.oid)), 0), coalesce(sum(pg_indexes_size(c.oid)), 0),
		       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind = 'r' AND n.nspname IN ('leat', 'public') AND c.relname ~ $1`, kept.tables).
		Scan(&r.tables, &r.indexes, &r.wal))
	r.cpu = processorTime()
	return r
}
