package pgoutbox_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestO2_StandbyIsRefused restarts a server as a standby, and promotes it.
//
//leat:level 4
func TestO2_StandbyIsRefused(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a server of its own")
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off"}})
	db := server.Database(t, migrated())
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	put(t, ob, "k", "before")
	src := source(t, ob, "")
	require.NoError(t, src.Check(t.Context()))

	signal := filepath.Join(query1[string](t, db, "SHOW data_directory"), "standby.signal")
	require.NoError(t, os.WriteFile(signal, nil, 0o644))
	server.Restart("fast")
	db.Pool.Reset()
	require.True(t, query1[bool](t, db, "SELECT pg_is_in_recovery()"))
	refused(t, src.Check(t.Context()), pgwindow.ErrStandby)
	_, err = src.Acquire(t.Context(), testLease)
	require.Error(t, err)

	exec(t, db, "SELECT pg_promote()")
	require.NoError(t, src.Check(t.Context()))
	put(t, ob, "k", "after")
	require.Equal(t, []string{"before", "after"}, payloads(readAll(t, acquire(t, ob, ""), 10)))
}

// TestO2_RelaySurvivesACrash crashes the server repeatedly under a relay and its producers.
//
//leat:level 4
func TestO2_RelaySurvivesACrash(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a server of its own")
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off"}})
	db := server.Database(t, migrated())
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	broker := outboxtest.NewBroker()
	r, err := relay.New(source(t, ob, ""), broker.Sink(), relay.Config{
		PageSize: 3, BackoffMax: 100 * time.Millisecond, PollMax: 20 * time.Millisecond,
	})
	require.NoError(t, err)
	run := runRelay(t, r)

	var want []string
	write := func(from int) {
		for i := from; i < from+40; i++ {
			name := strconv.Itoa(i)
			put(t, ob, "k", name)
			want = append(want, name)
		}
	}
	for round := range 3 {
		write(round * 40)
		server.Restart("immediate")
		await(t, "the server takes connections", func() bool {
			db.Pool.Reset()
			return db.Pool.Ping(t.Context()) == nil
		})
	}
	write(120)
	log, err := broker.AwaitDistinct(t.Context(), len(want))
	require.NoError(t, err)
	require.NoError(t, run.stop())
	require.Equal(t, want, payloads(firsts(log)))
}

// firsts returns the first occurrence of each record.
func firsts(log []outbox.Record) []outbox.Record {
	var first []outbox.Record
	seen := make(map[string]bool)
	for i := range log {
		if !seen[log[i].ID] {
			seen[log[i].ID] = true
			first = append(first, log[i])
		}
	}
	return first
}

// TestO13_BackendTerminated: the relay's connections are cut while it leads; it reconnects and keeps its
// lease.
func TestO13_BackendTerminated(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	broker := outboxtest.NewBroker()
	r, err := relay.New(source(t, ob, ""), broker.Sink(), relay.Config{BackoffMax: 50 * time.Millisecond, Lease: time.Hour})
	require.NoError(t, err)
	run := runRelay(t, r)
	for i := range 4 {
		if i > 0 {
			exec(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
			await(t, "the pool has connections again", func() bool {
				db.Pool.Reset()
				return pgx.BeginFunc(t.Context(), db.Pool, func(pgx.Tx) error { return nil }) == nil
			})
		}
		put(t, ob, "k", strconv.Itoa(i))
		_, err := broker.AwaitDistinct(t.Context(), i+1)
		require.NoError(t, err)
	}
	require.NoError(t, run.stop())
	require.Equal(t, []string{"0", "1", "2", "3"}, payloads(firsts(broker.Log())))
	require.True(t, query1[bool](t, db, "SELECT owner IS NULL FROM leat.outbox_leases"), "released")
}
