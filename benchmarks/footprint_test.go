package benchmarks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/internal/testenv"
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
