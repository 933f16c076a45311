package pginbox_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/race"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// tripCounter counts what connections wait for an answer of: statements and batches.
type tripCounter struct{ n atomic.Int64 }

func (c *tripCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

func (*tripCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (c *tripCounter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n.Add(1)
	return ctx
}

func (*tripCounter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (*tripCounter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TestCount_RoundTripsAndWAL: how often a handler behind the inbox waits for PostgreSQL, and the
// bytes of WAL that the inbox adds to a handler's effect, on a server that writes nothing else.
// It guards BEGIN and the claim in one trip, and the claim's one row in one index.
//
//leat:level 4
func TestCount_RoundTripsAndWAL(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a server")
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{
		"fsync": "off", "full_page_writes": "off", "autovacuum": "off", "checkpoint_timeout": "1d",
		"bgwriter_lru_maxpages": "0", "wal_level": "replica",
	}})
	db := server.Database(t, template)
	var trips tripCounter
	cfg := db.Pool.Config()
	cfg.ConnConfig.Tracer = &trips
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	in, err := pginbox.New(pool, "counted", pginbox.Config{})
	require.NoError(t, err)
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(t.Context()))
	enqueues := false
	handle := in.Handle(func(ctx context.Context, _ *message.Message) error {
		tx := pginbox.Tx(ctx)
		_, err := tx.Exec(ctx, "INSERT INTO effects VALUES ('x')")
		if err == nil && enqueues {
			err = ob.EnqueueContext(ctx, outbox.Message{Topic: "t", Key: "k"})
		}
		return err
	})
	deliver := func(from, n int) {
		for i := range n {
			require.NoError(t, handle(message.NewMessage(fmt.Sprintf("01900000-0000-7000-8000-%012d", from+i), nil)))
		}
	}
	wal := func() (at int64) {
		require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").Scan(&at))
		return at
	}

	const messages = 500
	deliver(0, 1) // statements are prepared
	for _, c := range []struct {
		name             string
		trips, mostBytes float64
	}{
		{"new", 3.02, 332}, // with the handler's one; once a second a look for parked keys
		{"duplicate", 2.02, 1},
		{"with a message", 3.02, 1000}, // which goes with COMMIT
	} {
		from := 1
		if enqueues = c.name == "with a message"; enqueues {
			deliver(messages+1, 1) // its statement is prepared
			from = messages + 2
		}
		before, at := trips.n.Load(), wal()
		deliver(from, messages)
		waits, bytes := float64(trips.n.Load()-before)/messages, float64(wal()-at)/messages
		t.Logf("%s: %.2f round trips, %.1f bytes a message", c.name, waits, bytes)
		require.LessOrEqual(t, waits, c.trips, c.name)
		require.LessOrEqual(t, bytes, c.mostBytes, c.name)
	}
}

// TestCount_Allocations: how often a delivery allocates whose handler runs two statements: behind the
// inbox, and behind a table of ids as people write it. What the second one allocates is pgx's. A context, a timer
// or a closure more in the claim or the commit raises the first.
//
//leat:level 4
func TestCount_Allocations(t *testing.T) { //nolint:paralleltest // others would count, too
	if race.Enabled {
		t.Skip("the race detector allocates: make counts")
	}
	db := testenv.Postgres(t, template)
	_, err := db.Pool.Exec(t.Context(), `CREATE TABLE processed_events (event_id uuid PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())`)
	require.NoError(t, err)
	in, err := pginbox.New(db.Pool, "counted", pginbox.Config{})
	require.NoError(t, err)
	effect := func(ctx context.Context, tx pgx.Tx) error {
		for range 2 {
			if _, err := tx.Exec(ctx, "INSERT INTO effects VALUES ($1)", "x"); err != nil {
				return err
			}
		}
		return nil
	}
	behind := in.Handle(func(ctx context.Context, _ *message.Message) error { return effect(ctx, pginbox.Tx(ctx)) })
	byHand := func(msg *message.Message) error {
		ctx := msg.Context()
		return pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO processed_events (event_id) VALUES ($1) ON CONFLICT DO NOTHING", msg.UUID); err != nil {
				return err
			}
			return effect(ctx, tx)
		})
	}
	const messages = 300
	allocations := func(handle func(*message.Message) error) float64 {
		msgs := make([]*message.Message, messages)
		for i := range msgs {
			msgs[i] = message.NewMessage(uuid.Must(uuid.NewV7()).String(), nil)
		}
		for _, msg := range msgs[:messages/3] { // connections and statements
			require.NoError(t, handle(msg))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, msg := range msgs[messages/3:] {
			if err := handle(msg); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs-before.Mallocs) / (messages - messages/3)
	}
	hand := allocations(byHand)
	leat := allocations(behind)
	t.Logf("%.1f allocations a delivery, %.1f by hand", leat, hand)
	require.LessOrEqual(t, leat, hand+54) // 51, and a look for parked keys once a second
}
