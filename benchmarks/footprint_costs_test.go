package benchmarks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

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
