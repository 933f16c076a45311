package sqloutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/sqlforward"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// replicated runs a test on a server and a writable replica, which has already applied the outbox's
// tables.
func replicated(t *testing.T, test func(t *testing.T, ob *sqloutbox.Outbox, source, replica *mysql.Config, dialect outbox.Dialect)) {
	t.Helper()
	for dialect, start := range map[outbox.Dialect]func(testing.TB, map[string]string) *testenv.PrivateMySQLServer{
		outbox.MySQL: testenv.PrivateMySQL, outbox.MariaDB: testenv.PrivateMariaDB,
	} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			source, replica := sqltest.Replicated(t, start)
			ob := newOutbox(t, sqltest.OpenMySQL(t, source, nil), dialect)
			await(t, replica, "SELECT 1 FROM leat_outbox WHERE seq = -1")
			test(t, ob, source, replica, dialect)
		})
	}
}

// await waits until a query finds a row. The database itself may not exist yet.
func await(t *testing.T, config *mysql.Config, query string) {
	t.Helper()
	connector, err := mysql.NewConnector(config)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	defer func() { require.NoError(t, db.Close()) }()
	for {
		var one int
		err := db.QueryRowContext(t.Context(), query).Scan(&one)
		if err == nil {
			return
		}
		if !errors.Is(err, sql.ErrNoRows) && !strings.Contains(err.Error(), "Error 10") && !strings.Contains(err.Error(), "Error 1146") {
			require.NoError(t, err)
		}
		require.NoError(t, wait.For(t.Context(), 10*time.Millisecond))
	}
}

// TestO2_ReplicaIsRefused: on a writable replica, an open transaction of the source locks nothing. A relay
// does not start there, and retention does nothing. A relay that ran there before the replication started
// closes no number.
//
//leat:level 4
func TestO2_ReplicaIsRefused(t *testing.T) {
	t.Parallel()
	replicated(t, func(t *testing.T, ob *sqloutbox.Outbox, source, replica *mysql.Config, dialect outbox.Dialect) {
		const text = "the server is a replica"
		on := sqltest.OpenMySQL(t, source, nil)
		db := sqltest.OpenMySQL(t, replica, nil)
		requireUnusable(t, check(t, db, dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{}), text)
		var log strings.Builder // the calls that write to it come one after the other
		there, err := sqloutbox.New(db, dialect, sqloutbox.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		src, err := there.Source(sqloutbox.SourceConfig{})
		require.NoError(t, err)
		sink, err := relay.Func(func(context.Context, outbox.Record) error { return nil }, relay.FuncConfig{})
		require.NoError(t, err)
		r, err := relay.New(src, sink, relay.Config{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		requireUnusable(t, r.Run(t.Context()), text)
		_, err = eager(t, there).RunOnce(t.Context())
		require.ErrorContains(t, err, text)

		forwarder, err := sqlforward.New(db, dialect, there, sqlforward.Config{})
		require.NoError(t, err)
		_, err = forwarder.RunOnce(t.Context())
		require.ErrorContains(t, err, text)

		// A promoted server has stopped its replication: it is not a replica any more.
		exec(t, db, "STOP REPLICA")
		require.NoError(t, check(t, db, dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{}))
		s := acquire(t, there, sqloutbox.SourceConfig{})
		exec(t, db, "START REPLICA")

		long := open(t, on, ob, message("k", "the long one"))
		exec(t, on, manyGaps())
		await(t, replica, "SELECT 1 FROM leat_outbox WHERE seq > 2000")
		for !strings.Contains(log.String(), text) {
			drain(t, s)
			var closed int
			require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM leat_outbox WHERE shard = -1 AND seq > 0").Scan(&closed))
			require.Zero(t, closed)
			require.NoError(t, wait.For(t.Context(), 10*time.Millisecond))
		}
		require.NoError(t, long.Commit())
		await(t, replica, "SELECT 1 FROM leat_outbox WHERE payload = 'the long one'")
		require.Equal(t, []string{"the long one"}, drain(t, s))
	})
}

// TestO2_PromotedReplicaIsTold: a relay that continues on a promoted replica raises an alarm.
//
//leat:level 4
func TestO2_PromotedReplicaIsTold(t *testing.T) {
	t.Parallel()
	replicated(t, func(t *testing.T, ob *sqloutbox.Outbox, source, replica *mysql.Config, dialect outbox.Dialect) {
		alarms, _ := ledAgain(t, ob)
		require.Empty(t, alarms)
		commit(t, ob, message("k", "the last one"))
		await(t, replica, "SELECT 1 FROM leat_outbox WHERE payload = 'the last one'")
		db := sqltest.OpenMySQL(t, replica, nil)
		exec(t, db, "STOP REPLICA")
		there, err := sqloutbox.New(db, dialect, sqloutbox.Config{})
		require.NoError(t, err)
		alarms, change := ledAgain(t, there)
		require.Equal(t, alarmed{"server_changed false", "server_changed true"}, alarms)
		require.Contains(t, change.Before, "(server_id 1)")
		require.Contains(t, change.Now, "(server_id 2)")
	})
}

// manyGaps returns a statement that inserts messages with a gap before each, so many that the relay soon
// asks about the gaps.
func manyGaps() string {
	var b strings.Builder
	b.WriteString("INSERT INTO leat_outbox (seq, shard, id, topic, msg_key, type, payload, headers, created_at) VALUES ")
	for n := 100; n <= 2300; n += 2 {
		fmt.Fprintf(&b, "(%d, 0, 'id-%[1]d', 't', '', '', 'x', '', 1), ", n)
	}
	return strings.TrimSuffix(b.String(), ", ")
}

// TestReplicaIsUnknownWithoutThePrivilege: the missing privilege is logged once, and nothing is refused.
// MariaDB answers without a privilege.
//
//leat:level 4
func TestReplicaIsUnknownWithoutThePrivilege(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		admin := sqltest.OpenMySQL(t, config, nil)
		newOutbox(t, admin, dialect)
		user := strings.ReplaceAll(config.DBName, "leat_test_", "u")
		user = user[:min(len(user), 30)]
		exec(t, admin, "CREATE USER '"+user+"'@'%'", "GRANT ALL ON `"+config.DBName+"`.* TO '"+user+"'@'%'")
		t.Cleanup(func() { _, _ = admin.ExecContext(context.WithoutCancel(t.Context()), "DROP USER '"+user+"'@'%'") })
		mine := config.Clone()
		mine.User = user
		var log strings.Builder
		ob, err := sqloutbox.New(sqltest.OpenMySQL(t, mine, nil), dialect, sqloutbox.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		src, err := ob.Source(sqloutbox.SourceConfig{})
		require.NoError(t, err)
		require.NoError(t, src.Check(t.Context()))
		require.NoError(t, src.Check(t.Context()))
		want := map[outbox.Dialect]int{outbox.MySQL: 1}[dialect]
		require.Equal(t, want, strings.Count(log.String(), "GRANT REPLICATION CLIENT"), log.String())
	})
}

// TestR14_SplitterIsRefused: one connection reaches two servers, by each of the rules that a splitter may
// follow.
//
//leat:level 4
func TestR14_SplitterIsRefused(t *testing.T) {
	t.Parallel()
	replicated(t, func(t *testing.T, _ *sqloutbox.Outbox, source, replica *mysql.Config, dialect outbox.Dialect) {
		var turn atomic.Int64
		for name, s := range map[string]faultnet.MySQLSplitter{
			"every SELECT":           {},
			"every other SELECT":     {Away: func(string) bool { return turn.Add(1)%2 == 0 }},
			"READ ONLY transactions": {Away: func(string) bool { return false }, ReadOnly: true},
		} {
			s.Writer, s.Reader = source.Addr, replica.Addr
			config := source.Clone()
			config.Addr = s.Listen(t)
			err := check(t, sqltest.OpenMySQL(t, config, nil), dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{})
			requireUnusable(t, err, "past the read/write splitter")
			require.ErrorContains(t, err, "server_id 1", name)
			require.ErrorContains(t, err, "server_id 2", name)
		}
		none := faultnet.MySQLSplitter{Writer: source.Addr, Reader: replica.Addr, Away: func(string) bool { return false }}
		config := source.Clone()
		config.Addr = none.Listen(t)
		require.NoError(t, check(t, sqltest.OpenMySQL(t, config, nil), dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{}))
	})
}

// TestR14_PageOfAnotherServer: a splitter that was not noticed at the start sends a statement of a page to
// a lagging replica. A message that is missing there would be passed over by a later one of its key.
// Instead the page fails, and the session continues where it was.
//
//leat:level 4
func TestR14_PageOfAnotherServer(t *testing.T) {
	t.Parallel()
	replicated(t, func(t *testing.T, ob *sqloutbox.Outbox, source, replica *mysql.Config, dialect outbox.Dialect) {
		on := sqltest.OpenMySQL(t, source, nil)
		var away atomic.Value // a part of the statements that go to the reader
		away.Store("nothing")
		config := source.Clone()
		config.Addr = faultnet.MySQLSplitter{
			Writer: source.Addr, Reader: replica.Addr,
			Away: func(sql string) bool { return strings.Contains(sql, away.Load().(string)) },
		}.Listen(t)
		db := sqltest.OpenMySQL(t, config, nil)
		require.NoError(t, check(t, db, dialect, sqloutbox.Config{}, sqloutbox.SourceConfig{}))
		through, err := sqloutbox.New(db, dialect, sqloutbox.Config{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		s := acquire(t, through, sqloutbox.SourceConfig{})

		exec(t, sqltest.OpenMySQL(t, replica, nil), "STOP REPLICA")
		long := open(t, on, ob, message("k", "first"))
		commit(t, ob, message("another", "between"))
		require.Equal(t, []string{"between"}, drain(t, s))
		require.NoError(t, long.Commit())
		commit(t, ob, message("k", "second"))
		for _, part := range []string{"BETWEEN", "AND seq > ", "instance, floor"} {
			away.Store(part)
			_, err := s.Read(t.Context(), 10)
			require.ErrorIs(t, err, sqlstore.ErrOtherServer, part)
			require.ErrorContains(t, err, "past the read/write splitter")
		}
		away.Store("nothing")
		require.Equal(t, []string{"first", "second"}, drain(t, s))
		require.NoError(t, s.Release(t.Context()))
	})
}
