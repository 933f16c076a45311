package pgoutbox_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// private starts a server of the test's own, with an outbox.
func private(t *testing.T, settings map[string]string) (*testenv.PostgresServer, *pgoutbox.Outbox, *testenv.Database) {
	t.Helper()
	if settings == nil {
		settings = map[string]string{}
	}
	settings["fsync"] = "off"
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: settings})
	db := server.Database(t, migrated())
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	return server, ob, db
}

// standBy turns the server into a standby without a primary.
func standBy(t *testing.T, server *testenv.PostgresServer, data string) {
	t.Helper()
	server.Stop("fast")
	require.NoError(t, os.WriteFile(filepath.Join(data, "standby.signal"), nil, 0o644))
	server.Start()
}

// TestO2_FailoverToAReadOnlyNode: the server that a relay reads becomes a standby and, later, a primary
// again. The relay waits, and then continues.
//
//leat:level 4
func TestO2_FailoverToAReadOnlyNode(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a server of its own")
	server, ob, db := private(t, nil)
	broker := outboxtest.NewBroker()
	failed := make(chan error, 1000)
	cfg := fastTakeover()
	cfg.BackoffMax = 50 * time.Millisecond
	alarms := &alarmed{}
	cfg.Hooks = []outbox.Hook{onError(failed), alarms}
	r, err := relay.New(source(t, ob, ""), broker.Sink(), cfg)
	require.NoError(t, err)
	run := runRelay(t, r)
	put(t, ob, "k", "1", "2")
	_, err = broker.AwaitDistinct(t.Context(), 2)
	require.NoError(t, err)

	data := query1[string](t, db, "SHOW data_directory")
	standBy(t, server, data)
	for readOnly := false; !readOnly; {
		readOnly = isStandby(<-failed)
	}
	await(t, "promoted", func() bool {
		_, err := db.Pool.Exec(t.Context(), "SELECT pg_promote()")
		return err == nil
	})
	await(t, "the pool writes again", func() bool {
		return ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			return ob.Enqueue(ctx, tx, keyed("k", "3")...)
		}) == nil
	})
	log, err := broker.AwaitDistinct(t.Context(), 3)
	require.NoError(t, err)
	require.Contains(t, alarms.kinds(), "server_changed false")
	require.NoError(t, run.stop())
	require.Equal(t, []string{"1", "2", "3"}, payloads(firsts(log)))
	groups, err := ob.Admin().Groups(t.Context())
	require.NoError(t, err)
	require.Equal(t, "timeline 1, timeline 2", groups[0].Server.Before+", "+groups[0].Server.Now)
}

// isStandby reports whether err comes from a server in recovery.
func isStandby(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return errors.Is(err, pgwindow.ErrStandby) || ok && (pgErr.Code == "25006" || pgErr.Code == "0A000")
}

type onError chan error

func (o onError) OnRelayError(_ context.Context, e relay.ErrorEvent) {
	select {
	case o <- e.Err:
	default:
	}
}

// TestO2_TargetSessionAttrs: the first of two addresses is a standby. The relay's own connections follow
// the pool's settings and find the primary.
//
//leat:level 4
func TestO2_TargetSessionAttrs(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts servers of its own")
	_, _, db := private(t, nil)
	other, _, otherDB := private(t, nil)
	exec(t, otherDB, `CREATE DATABASE "`+db.Name+`"`)
	standBy(t, other, query1[string](t, otherDB, "SHOW data_directory"))
	first, err := url.Parse(otherDB.URL)
	require.NoError(t, err)
	u, err := url.Parse(db.URL)
	require.NoError(t, err)
	u.Host = first.Host + "," + u.Host
	u.RawQuery = "sslmode=disable&target_session_attrs=read-write"
	pool, err := pgxpool.New(t.Context(), u.String())
	require.NoError(t, err)
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	require.NoError(t, err)
	broker := outboxtest.NewBroker()
	run := startRelay(t, ob, broker)
	put(t, ob, "k", "1")
	_, err = broker.AwaitDistinct(t.Context(), 1)
	require.NoError(t, err)
	awaitListening(t, db)
	require.Equal(t, 1, connections(t, db, "leat relay default"))
	require.NoError(t, run.stop())
}

// TestO2_TooManyConnections: a relay that finds no free connection retries until there is one.
//
//leat:level 4
func TestO2_TooManyConnections(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a server of its own")
	_, ob, db := private(t, map[string]string{"max_connections": "10", "superuser_reserved_connections": "0"})
	broker := outboxtest.NewBroker()
	failed := make(chan error, 1000)
	put(t, ob, "k", "1")
	var hogs []*pgx.Conn
	for {
		conn, err := pgx.Connect(t.Context(), db.URL)
		if err != nil {
			break
		}
		hogs = append(hogs, conn)
	}
	r, err := relay.New(source(t, ob, ""), broker.Sink(), relay.Config{BackoffMin: time.Millisecond, BackoffMax: 20 * time.Millisecond, Hooks: []outbox.Hook{onError(failed)}})
	require.NoError(t, err)
	run := runRelay(t, r)
	for range 3 {
		require.ErrorContains(t, <-failed, "53300")
	}
	for _, conn := range hogs {
		require.NoError(t, conn.Close(t.Context()))
	}
	_, err = broker.AwaitDistinct(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, run.stop())
}

// TestO12_PositionIsReadAgain: a server crash loses positions that were stored without waiting for the
// disk. The relay continues from the position that the server still has.
//
//leat:level 4
func TestO12_PositionIsReadAgain(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a server of its own")
	// The writer of the log sleeps, so that nothing asynchronous survives.
	server, ob, db := private(t, map[string]string{"wal_writer_delay": "10s", "wal_writer_flush_after": "1GB"})
	src := source(t, ob, "")
	s, err := src.Acquire(t.Context(), testLease)
	require.NoError(t, err)
	put(t, ob, "k", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
	page, err := s.Read(t.Context(), 4)
	require.NoError(t, err)
	require.NoError(t, s.Advance(t.Context(), page, 4))
	last := query1[int64](t, db, "SELECT last FROM leat.outbox_positions ORDER BY window_no DESC LIMIT 1")
	require.Equal(t, page.Records[3].Seq, last)
	server.Restart("immediate")
	db.Pool.Reset()
	_ = s.Release(t.Context()) // its connections are gone; what it says of that is of no account here
	s, err = src.Acquire(t.Context(), testLease)
	require.NoError(t, err)
	got := payloads(readAll(t, s, 10))
	require.NoError(t, s.Release(t.Context()))
	want := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
	require.Equal(t, want[len(want)-len(got):], got)
	require.GreaterOrEqual(t, len(got), 6, strconv.Itoa(len(got)))
}
