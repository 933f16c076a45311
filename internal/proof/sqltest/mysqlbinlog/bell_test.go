package mysqlbinlog_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/mysqlbinlog"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// TestBell runs all tests of a database on one server, since a server takes seconds to start.
//
//nolint:paralleltest // the last two disturb the server
//leat:level 4
func TestBell(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, newShop func(t *testing.T) *shop) {
		t.Parallel()
		t.Run("together", func(t *testing.T) {
			for name, test := range map[string]func(t *testing.T, newShop func(t *testing.T) *shop){
				"RingsAtCommits": ringsAtCommits, "WakesARelay": wakesARelay, "TwoOfOneNumber": twoOfOneNumber, "Check": check,
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, newShop)
				})
			}
		})
		t.Run("ConnectsAgain", func(t *testing.T) { connectsAgain(t, newShop(t)) })
		t.Run("RefusesStatements", func(t *testing.T) {
			s := newShop(t)
			s.exec(t, "SET GLOBAL binlog_format = STATEMENT")
			require.ErrorContains(t, s.check(t, s.config), "binlog_format is STATEMENT, want ROW")
		})
	})
}

// ringsAtCommits checks that each way of ending a transaction rings as often as it should, or not at all.
// A commit to the outbox follows each of them and rings, too; by then the earlier transaction has rung or
// will not ring.
func ringsAtCommits(t *testing.T, newShop func(t *testing.T) *shop) {
	t.Helper()
	const insert = "INSERT INTO leat_outbox SELECT * FROM source"
	s := newShop(t)
	s.enqueue(t, "seed")
	s.exec(t, "CREATE TABLE source AS SELECT * FROM leat_outbox WHERE shard >= 0", "UPDATE source SET seq = 1000000",
		"CREATE TABLE other (id INT PRIMARY KEY)")
	another := newShop(t)
	rings, said := s.bell(t, mysqlbinlog.Config{})
	foreign := "INSERT INTO `" + another.config.DBName + "`.leat_outbox SELECT * FROM source"
	remove := "DELETE FROM leat_outbox WHERE seq = 1000000"
	compressed := "SET SESSION binlog_transaction_compression = ON"
	if s.dialect == "mariadb" {
		compressed = "SET GLOBAL log_bin_compress = ON"
		s.exec(t, "SET GLOBAL log_bin_compress_min_len = 10")
	}
	for _, c := range []struct {
		name  string
		do    []string
		rings int
	}{
		{"alone", []string{insert}, 1},
		{"taken out", []string{remove}, 0},
		{"in a transaction", []string{"BEGIN", "INSERT INTO other VALUES (1)", insert, "COMMIT"}, 1},
		{"another table", []string{"INSERT INTO other VALUES (2)"}, 0},
		{"rolled back", []string{remove, "BEGIN", insert, "ROLLBACK"}, 0},
		{"rolled back in part", []string{"BEGIN", "INSERT INTO other VALUES (3)", "SAVEPOINT s", insert, "ROLLBACK TO s", "COMMIT"}, 0},
		{"table of another database", []string{foreign}, 0},
		{"at once with its preparation", []string{"XA START 'one'", insert, "XA END 'one'", "XA COMMIT 'one' ONE PHASE"}, 1},
		{"prepared, then committed", []string{remove, "XA START 'two'", insert, "XA END 'two'", "XA PREPARE 'two'", "XA COMMIT 'two'"}, 2},
		{"compressed", []string{remove, compressed, "INSERT INTO leat_outbox SELECT s.* FROM source s"}, 1},
	} {
		s.exec(t, c.do...)
		s.enqueue(t, c.name)
		for range c.rings + 1 {
			heard(t, rings)
		}
		require.Empty(t, rings, c.name)
	}
	require.Empty(t, said.all())
}

// wakesARelay: messages that other processes commit are sent at once, although the relay would not poll
// for eight seconds.
func wakesARelay(t *testing.T, newShop func(t *testing.T) *shop) {
	t.Helper()
	s := newShop(t)
	source, err := s.ob.Source(sqloutbox.SourceConfig{})
	require.NoError(t, err)
	sent := make(chan string, 10)
	sink, err := relay.Func(func(_ context.Context, r outbox.Record) error {
		sent <- r.ID
		return nil
	}, relay.FuncConfig{})
	require.NoError(t, err)
	// The wait doubles from 2 ms on, and up to half is taken off: after 14 looks, the
	// next is at least 8 s away.
	tired := lookouts{left: 14, idle: make(chan struct{})}
	r, err := relay.New(source, sink, relay.Config{PollMax: time.Hour, Hooks: []outbox.Hook{&tired}})
	require.NoError(t, err)
	connected := make(chan struct{}, 1000)
	run(t, func() {
		s.ob.Wake()
		connected <- struct{}{}
	}, mysqlbinlog.Config{DSN: s.config.FormatDSN()})
	heard(t, connected) // that rings, too: no look before it counts
	runs(t, func(ctx context.Context) { _ = r.Run(ctx) })
	select {
	case <-tired.idle:
	case <-time.After(patience):
		require.Fail(t, "the relay does not look")
	}
	s.enqueue(t, "foreign")
	select {
	case id := <-sent:
		require.Equal(t, "foreign", id)
	case <-time.After(8 * time.Second):
		require.Fail(t, "the relay was not woken")
	}
}

// lookouts waits until a relay has polled in vain this many times.
type lookouts struct {
	left int
	idle chan struct{}
}

func (l *lookouts) OnRelayRead(_ context.Context, e relay.ReadEvent) {
	if e.Records == 0 && e.Err == nil {
		if l.left--; l.left == 0 {
			close(l.idle)
		}
	}
}

// connectsAgain: the Bell reconnects after its session was ended, and after the server was killed.
func connectsAgain(t *testing.T, s *shop) {
	t.Helper()
	rings, said := s.bell(t, mysqlbinlog.Config{})
	var id int64
	require.NoError(t, s.db.QueryRowContext(t.Context(),
		"SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'").Scan(&id))
	s.exec(t, fmt.Sprintf("KILL %d", id))
	heard(t, rings) // as it connects
	s.enqueue(t, "after the session")
	heard(t, rings)

	s.server.Kill()
	s.server.Start()
	heard(t, rings)
	s.enqueue(t, "after the server")
	heard(t, rings)
	lines := said.all()
	again := func(line string) bool { return strings.Contains(line, "rings again") }
	require.True(t, slices.ContainsFunc(lines, again), "%q", lines)
	require.Less(t, len(lines), 20, "%q", lines)
}

// twoOfOneNumber runs two Bells with one server id. MariaDB ends the older one, which logs that. MySQL
// accepts both, since they have different UUIDs.
func twoOfOneNumber(t *testing.T, newShop func(t *testing.T) *shop) {
	t.Helper()
	s := newShop(t)
	older, said := s.bell(t, mysqlbinlog.Config{ServerID: 7})
	newer, _ := s.bell(t, mysqlbinlog.Config{ServerID: 7})
	if s.dialect == outbox.MariaDB {
		require.Eventually(t, func() bool {
			return strings.Contains(strings.Join(said.all(), ""), "already connected")
		}, patience, 10*time.Millisecond)
		return
	}
	s.enqueue(t, "for both")
	heard(t, older)
	heard(t, newer)
}

func (s *shop) check(t *testing.T, config *mysql.Config, tables ...string) error {
	t.Helper()
	b, err := mysqlbinlog.New(s.ob.Wake, mysqlbinlog.Config{DSN: config.FormatDSN(), Tables: tables})
	require.NoError(t, err)
	return b.Check(t.Context())
}

func check(t *testing.T, newShop func(t *testing.T) *shop) {
	t.Helper()
	s := newShop(t)
	require.NoError(t, s.check(t, s.config))
	require.ErrorContains(t, s.check(t, s.config, "leat_outbox", "events"), "table events is not in database "+s.config.DBName)

	poor := s.config.Clone()
	poor.User, poor.Passwd = "leat_bell", "secret"
	s.exec(t, "CREATE USER leat_bell IDENTIFIED BY 'secret'", "GRANT SELECT ON leat_outbox TO leat_bell", "GRANT REPLICATION SLAVE ON *.* TO leat_bell")
	if s.dialect == outbox.MySQL {
		require.ErrorContains(t, s.check(t, poor), "REPLICATION CLIENT")
		s.exec(t, "GRANT REPLICATION CLIENT ON *.* TO leat_bell")
	}
	require.NoError(t, s.check(t, poor))
	(&shop{config: poor}).bell(t, mysqlbinlog.Config{})
}

// TestBell_Check_WithoutLog: the servers that tests share write no binary log.
func TestBell_Check_WithoutLog(t *testing.T) {
	t.Parallel()
	b, err := mysqlbinlog.New(func() {}, mysqlbinlog.Config{DSN: sqltest.NewMySQLDatabase(t, testenv.MariaDB(t).URL).FormatDSN()})
	require.NoError(t, err)
	require.ErrorContains(t, b.Check(t.Context()), "log_bin is OFF")
}
