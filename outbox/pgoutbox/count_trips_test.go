package pgoutbox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// tripCounter counts the round trips of connections: statements and batches.
type tripCounter struct{ statementCounter }

// TraceBatchStart implements pgx.BatchTracer.
func (c *tripCounter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n.Add(1)
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (*tripCounter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (*tripCounter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// countRoundTrips counts how often a producer and a relay wait for PostgreSQL. The counts are whole
// numbers and the same on every machine, so one more trip fails. It guards the single statement of
// Enqueue, the single trip of InBatch, and the reads of a session: a page, its position, and a probe with
// the next window behind the last page.
func countRoundTrips(t *testing.T, db *testenv.Database) {
	t.Helper()
	var trips tripCounter
	cfg := db.Pool.Config()
	cfg.ConnConfig.Tracer = &trips
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	require.NoError(t, err)
	s := acquire(t, ob, "")

	const messages, size, pages = 20, 100, 10
	names := make([]string, pages*size)
	counts := map[string]struct {
		times int64
		do    func()
		want  float64
	}{
		"enqueue, InTx": {messages, func() { put(t, ob, "k", "one") }, 1},
		"enqueue, InTx with a statement": {messages, func() {
			require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "SELECT $1::int", 1)
				return errors.Join(err, ob.Enqueue(ctx, tx, keyed("k", "one")...), ob.Enqueue(ctx, tx, keyed("l", "two")...))
			}))
		}, 2},
		"enqueue, InBatch": {messages, func() {
			require.NoError(t, ob.InBatch(t.Context(), &pgx.Batch{}, outbox.Message{Topic: "t", Key: "k"}))
		}, 1},
		"relay, a message at a time": {messages, func() {
			before := trips.n.Load()
			put(t, ob, "k", "one")
			trips.n.Add(before - trips.n.Load()) // the producer's are counted above
			require.Len(t, readAll(t, s, size), 1)
		}, 5},
		"relay, ten pages": {1, func() {
			before := trips.n.Load()
			put(t, ob, "k", names...)
			trips.n.Add(before - trips.n.Load())
			require.Len(t, readAll(t, s, size), pages*size)
		}, 24},
	}
	for _, name := range []string{"enqueue, InTx", "enqueue, InTx with a statement", "enqueue, InBatch", "relay, a message at a time", "relay, ten pages"} {
		c := counts[name]
		c.do() // statements are prepared
		readAll(t, s, 5000)
		before := trips.n.Load()
		for range c.times {
			c.do()
		}
		n := float64(trips.n.Load()-before) / float64(c.times)
		t.Logf("%s: %.2f round trips", name, n)
		require.LessOrEqual(t, n, c.want, name)
		readAll(t, s, 5000)
	}
}
