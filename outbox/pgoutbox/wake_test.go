package pgoutbox_test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// never is a poll interval that outlasts every test.
const never = time.Hour

// runNotifier runs ob's notifier until the test ends.
func runNotifier(t *testing.T, ob *pgoutbox.Outbox) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ob.RunNotifier(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
}

// elsewhere returns the outbox of db as another process would open it.
func elsewhere(t *testing.T, db *testenv.Database, cfg pgoutbox.Config) *pgoutbox.Outbox {
	t.Helper()
	ob, err := pgoutbox.New(db.Pool, cfg)
	require.NoError(t, err)
	return ob
}

// connections returns the number of the database's connections with that application_name.
func connections(t *testing.T, db *testenv.Database, name string) int {
	t.Helper()
	return query1[int](t, db,
		"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1", name)
}

// awaitListening waits until a relay of the default group listens.
func awaitListening(t *testing.T, db *testenv.Database) {
	t.Helper()
	await(t, "the relay listens", func() bool {
		return query1[bool](t, db, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
			AND application_name = 'leat shared' AND query = 'LISTEN "leat/leat/outbox"' AND state = 'idle')`)
	})
}

// TestWake_ReachesARelayElsewhere: a relay that hardly ever polls notices the commits of another process,
// even after its connection and the notifier's were cut.
func TestWake_ReachesARelayElsewhere(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	runNotifier(t, ob)
	broker := outboxtest.NewBroker()
	r, err := relay.New(source(t, elsewhere(t, db, pgoutbox.Config{}), ""), broker.Sink(), relay.Config{PollMin: never, PollMax: never})
	require.NoError(t, err)
	run := runRelay(t, r)
	n := 0
	for range 2 {
		awaitListening(t, db)
		for range 20 {
			put(t, ob, "k", strconv.Itoa(n))
			n++
			_, err := broker.AwaitDistinct(t.Context(), n)
			require.NoError(t, err)
		}
		exec(t, db, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name IN ('leat notifier', 'leat shared')`)
		await(t, "they are gone", func() bool { return connections(t, db, "leat notifier") == 0 })
	}
	require.NoError(t, run.stop())
}

// TestWake_NotInTheBusinessTransaction: a commit sends no notification itself, and the notifier sends at
// most one per interval.
func TestWake_NotInTheBusinessTransaction(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{NotifyInterval: never / 60})
	conn := db.Connect(t)
	_, err := conn.Exec(t.Context(), `LISTEN "leat/leat/outbox"; LISTEN marker`)
	require.NoError(t, err)
	put(t, ob, "k", "1")
	exec(t, db, "NOTIFY marker")
	got, err := conn.WaitForNotification(t.Context())
	require.NoError(t, err)
	require.Equal(t, "marker", got.Channel)

	runNotifier(t, ob)
	await(t, "the first commit is announced", func() bool {
		put(t, ob, "k", "2")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		got, err = conn.WaitForNotification(ctx)
		return err == nil
	})
	require.Equal(t, pgoutbox.Channel("leat", "outbox"), got.Channel)
	for range 100 {
		ob.Wake()
	}
	exec(t, db, "NOTIFY marker")
	got, err = conn.WaitForNotification(t.Context())
	require.NoError(t, err)
	require.Equal(t, "marker", got.Channel)
}

// TestO13_Connections: a relay uses the connections that the documentation says, and leaves none behind.
func TestO13_Connections(t *testing.T) {
	t.Parallel()
	for _, noListen := range []bool{false, true} {
		t.Run(strconv.FormatBool(noListen), func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{})
			broker := outboxtest.NewBroker()
			src, err := ob.Source(pgoutbox.SourceConfig{NoListen: noListen})
			require.NoError(t, err)
			r, err := relay.New(src, broker.Sink(), relay.Config{})
			require.NoError(t, err)
			run := runRelay(t, r)
			standby := startRelay(t, ob, broker)
			if !noListen {
				await(t, "it listens", func() bool { return connections(t, db, "leat shared") == 1 })
			}
			put(t, ob, "k", "1")
			_, err = broker.AwaitDistinct(t.Context(), 1)
			require.NoError(t, err)
			await(t, "it is idle", func() bool { return connections(t, db, "leat relay default") == 1 })
			all := query1[int](t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'leat%'")
			require.LessOrEqual(t, all, 3)
			require.NoError(t, run.stop())
			require.NoError(t, standby.stop())
			await(t, "none is left", func() bool {
				return query1[int](t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'leat%'") == 0
			})
		})
	}
}

// TestWake_Channel: channel names are stable, short enough, and different for different outboxes.
func TestWake_Channel(t *testing.T) {
	t.Parallel()
	require.Equal(t, "leat/leat/outbox", pgoutbox.Channel("leat", "outbox"))
	seen := map[string]bool{}
	for _, schema := range []string{"a", strings.Repeat("s", 63), strings.Repeat("é", 31)} {
		for _, table := range []string{"b", strings.Repeat("t", 48), strings.Repeat("t", 47) + "u"} {
			name := pgoutbox.Channel(schema, table)
			require.LessOrEqual(t, len(name), 63)
			require.False(t, seen[name], name)
			seen[name] = true
		}
	}
	_, err := pgoutbox.New(&pgxpool.Pool{}, pgoutbox.Config{NotifyInterval: -1})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}

// TestO2_WakesAreNeverNeeded: with wakes failing at every point, polling finds everything.
func TestO2_WakesAreNeverNeeded(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	broker := outboxtest.NewBroker()
	silent := elsewhere(t, db, pgoutbox.Config{}) // its bell is not ours, and it has no notifier
	run := startRelay(t, ob, broker)
	var stop atomic.Bool
	cut := make(chan error, 1)
	ctx := t.Context()
	go func() {
		var err error
		for !stop.Load() && err == nil {
			_, err = db.Pool.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'leat shared'`)
		}
		cut <- err
	}()
	for i := range 50 {
		put(t, silent, "k", strconv.Itoa(i))
	}
	_, err := broker.AwaitDistinct(ctx, 50)
	require.NoError(t, err)
	stop.Store(true)
	require.NoError(t, <-cut)
	require.NoError(t, run.stop())
	require.Len(t, broker.Log(), 50)
}
