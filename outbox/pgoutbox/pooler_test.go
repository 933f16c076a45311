package pgoutbox_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestWake_PoolerSwallowsNotifications: through a pooler in transaction mode no notification arrives. The
// relay notices, logs it, and relays by polling.
func TestWake_PoolerSwallowsNotifications(t *testing.T) {
	t.Parallel()
	_, db := newOutbox(t, pgoutbox.Config{})
	pooled := testenv.PgBouncer(t, db, testenv.PoolTransaction)
	log := testenv.NewLog()
	ob := elsewhere(t, pooled, pgoutbox.Config{Logger: log.Logger()})
	broker := outboxtest.NewBroker()
	run := startRelay(t, ob, broker)
	log.Await(t, "swallowed by the pooler")
	for i := range 5 {
		put(t, elsewhere(t, pooled, pgoutbox.Config{}), "k", strconv.Itoa(i))
		_, err := broker.AwaitDistinct(t.Context(), i+1)
		require.NoError(t, err)
	}
	require.NoError(t, run.stop())
	require.Equal(t, []string{"0", "1", "2", "3", "4"}, payloads(broker.Log()))
}

// TestWake_PoolerInSessionMode lets notifications through.
//
//leat:level 2
func TestWake_PoolerInSessionMode(t *testing.T) {
	t.Parallel()
	_, db := newOutbox(t, pgoutbox.Config{})
	pooled := testenv.PgBouncer(t, db, testenv.PoolSession)
	producer := elsewhere(t, pooled, pgoutbox.Config{})
	runNotifier(t, producer)
	broker := outboxtest.NewBroker()
	r, err := relay.New(source(t, elsewhere(t, pooled, pgoutbox.Config{}), ""), broker.Sink(), relay.Config{PollMin: never, PollMax: never})
	require.NoError(t, err)
	run := runRelay(t, r)
	awaitListening(t, db)
	for i := range 10 {
		put(t, producer, "k", strconv.Itoa(i))
		_, err := broker.AwaitDistinct(t.Context(), i+1)
		require.NoError(t, err)
	}
	require.NoError(t, run.stop())
}

// TestO2_O5_ThroughAPooler runs relays, a takeover and concurrent producers, all through a pooler in
// transaction mode, in every query mode of the pool.
//
//leat:level 2
func TestO2_O5_ThroughAPooler(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			_, db := newOutbox(t, pgoutbox.Config{})
			ob := elsewhere(t, inMode(t, testenv.PgBouncer(t, db, testenv.PoolTransaction), mode), pgoutbox.Config{})
			broker := outboxtest.NewBroker()
			first := startRelay(t, ob, broker)
			var writers sync.WaitGroup
			errs := make(chan error, 4)
			for w := range 4 {
				writers.Go(func() {
					for i := range 25 {
						if err := ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
							return ob.Enqueue(ctx, tx, keyed("k"+strconv.Itoa(w), strconv.Itoa(i))...)
						}); err != nil {
							errs <- err
							return
						}
					}
				})
			}
			_, err := broker.AwaitDistinct(t.Context(), 10)
			require.NoError(t, err)
			second := startRelay(t, ob, broker)
			require.NoError(t, first.stop())
			writers.Wait()
			require.Empty(t, errs)
			log, err := broker.AwaitDistinct(t.Context(), 100)
			require.NoError(t, err)
			require.NoError(t, second.stop())
			next := map[string]int{}
			for _, r := range firsts(log) {
				require.Equal(t, strconv.Itoa(next[r.Key]), string(r.Payload))
				next[r.Key]++
			}
		})
	}
}

// inMode returns db with another query mode.
func inMode(t *testing.T, db *testenv.Database, mode pgx.QueryExecMode) *testenv.Database {
	t.Helper()
	cfg := db.Pool.Config()
	cfg.ConnConfig.DefaultQueryExecMode = mode
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return &testenv.Database{Name: db.Name, URL: db.URL, Pool: pool}
}

// TestO1_O3_EnqueueThroughAPooler: every way in works through a pooler in
// transaction mode, for commit and rollback.
//
//leat:level 2
func TestO1_O3_EnqueueThroughAPooler(t *testing.T) {
	t.Parallel()
	_, db := newOutbox(t, pgoutbox.Config{})
	pooled := testenv.PgBouncer(t, db, testenv.PoolTransaction)
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		through := inMode(t, pooled, mode)
		ob := elsewhere(t, through, pgoutbox.Config{})
		for name, open := range entries() {
			before := stored(t, db)
			for i, commit := range []bool{false, true} {
				e := open(t, ob, through)
				require.NoError(t, e.enqueue(t.Context(), keyed("k", "x")...), name)
				require.NoError(t, e.end(commit), name)
				require.Equal(t, before+i, stored(t, db), "%s in mode %s", name, mode)
			}
		}
	}
}

// leaked counts the pooler's server connections whose synchronous_commit differs from the database's. It
// runs n transactions at a time, so that each has a connection of its own.
func leaked(t *testing.T, pooled *testenv.Database, n int) int {
	t.Helper()
	off := 0
	for range n {
		tx, err := pooled.Connect(t).Begin(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, tx.Rollback(context.Background())) }()
		var setting string
		require.NoError(t, tx.QueryRow(t.Context(), "SHOW synchronous_commit").Scan(&setting))
		if setting == "off" {
			off++
		}
	}
	return off
}

// TestO3_NothingLeaksThroughAPooler: settings that a relay makes for itself must not end up in other
// clients' transactions. A client that does set up its session, as one does without a pooler, is the
// negative control.
func TestO3_NothingLeaksThroughAPooler(t *testing.T) {
	t.Parallel()
	_, db := newOutbox(t, pgoutbox.Config{})
	pooled := testenv.PgBouncer(t, db, testenv.PoolTransaction)
	ob := elsewhere(t, pooled, pgoutbox.Config{})
	broker := outboxtest.NewBroker()
	run := startRelay(t, ob, broker)
	put(t, ob, "k", "1", "2")
	_, err := broker.AwaitDistinct(t.Context(), 2)
	require.NoError(t, err)
	require.Zero(t, leaked(t, pooled, 8))
	require.NoError(t, run.stop())
	require.Zero(t, leaked(t, pooled, 8))

	_, err = pooled.Connect(t).Exec(t.Context(), "SET synchronous_commit = off")
	require.NoError(t, err)
	require.Equal(t, 1, leaked(t, pooled, 8), "the check sees what leaks")
}

// TestO2_PoolerWithoutItsSettings: a setting that a relay needs and cannot make through a pooler is
// refused by name. On a direct connection the relay makes it itself.
//
//leat:level 2
func TestO2_PoolerWithoutItsSettings(t *testing.T) {
	t.Parallel()
	for setting, value := range map[string]string{
		"default_transaction_isolation": "serializable",
		"default_transaction_read_only": "on",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			direct, db := newOutbox(t, pgoutbox.Config{})
			exec(t, db, `ALTER DATABASE "`+db.Name+`" SET `+setting+` = '`+value+`'`)
			pooled := testenv.PgBouncer(t, db, testenv.PoolTransaction)
			src := source(t, elsewhere(t, pooled, pgoutbox.Config{}), "")
			err := src.Check(t.Context())
			require.ErrorIs(t, err, driver.ErrSourceUnusable)
			require.ErrorContains(t, err, setting)
			_, err = src.Acquire(t.Context(), testLease)
			require.Error(t, err)
			require.NoError(t, source(t, direct, "").Check(t.Context()))
			acquire(t, direct, "direct")
		})
	}
}
