package pginbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// TestMoves_MySQL is TestMoves with the moves of MySQL.
//
//leat:level 4
func TestMoves_MySQL(t *testing.T) {
	t.Parallel()
	moveSQL(t, sqlServers{outbox.MySQL, testenv.MySQL, testenv.PrivateMySQL})
}

// TestMoves_MariaDB is TestMoves_MySQL on MariaDB.
//
//leat:level 4
func TestMoves_MariaDB(t *testing.T) {
	t.Parallel()
	moveSQL(t, sqlServers{outbox.MariaDB, testenv.MariaDB, testenv.PrivateMariaDB})
}

// sqlServers starts servers of a dialect.
type sqlServers struct {
	dialect outbox.Dialect
	shared  func(testing.TB) testenv.MySQLServer
	private func(testing.TB, map[string]string) *testenv.PrivateMySQLServer
}

func moveSQL(t *testing.T, servers sqlServers) {
	t.Helper()
	for name, move := range map[string]func(s *sqlService, t *testing.T, name string){
		"dump into another server": (*sqlService).dump, "rename of a database": (*sqlService).rename,
		"failover": (*sqlService).failOver, "failover that lost commits": (*sqlService).loseCommits,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			move(&sqlService{service: &service{}, sqlServers: servers}, t, string(servers.dialect)+": "+name)
		})
	}
}

// sqlService is a service on MySQL or MariaDB.
type sqlService struct {
	*service
	sqlServers

	database *mysql.Config
}

func (s *sqlService) open(t *testing.T, log *slog.Logger) store {
	t.Helper()
	st := sqlStoreOf(t, log, sqltest.OpenMySQL(t, s.database, nil), s.dialect)
	marks, err := sqlinbox.New(st.db, s.dialect, "marks", sqlinbox.Config{})
	require.NoError(t, err)
	st.marks = marks
	return s.opened(st)
}

// begin makes the world in a database.
func (s *sqlService) begin(t *testing.T, database *mysql.Config, cfg relay.Config) {
	t.Helper()
	s.database = database
	s.world = newWorld(t, s.open)
	m := manner{Config: parks()}
	m.OnFailure.Attempts = 5 // a connection that breaks is one, too
	s.onKafka(cfg, m)
}

// goTo lets the service use another database.
func (s *sqlService) goTo(database *mysql.Config) {
	s.t.Helper()
	s.database = database
	s.store = s.open(s.t, s.log.Logger())
}

// dump stops all, and restores all tables on another server.
func (s *sqlService) dump(t *testing.T, name string) {
	t.Helper()
	u, err := url.Parse(s.private(t, nil).URL)
	require.NoError(t, err)
	s.begin(t, sqltest.NewMySQLDatabase(t, s.shared(t).URL), relay.Config{})
	s.move(name, func() {
		s.stop()
		there := s.database.Clone()
		there.Addr, there.DBName = u.Host, ""
		execute(t, sqltest.OpenMySQL(t, there, nil), "CREATE DATABASE `"+s.database.DBName+"`")
		there.DBName = s.database.DBName
		copyDatabase(t, s.database, there)
		s.goTo(there)
		s.start()
	})
}

// rename moves all tables into another database of the server.
func (s *sqlService) rename(t *testing.T, name string) {
	t.Helper()
	server := s.shared(t).URL
	s.begin(t, sqltest.NewMySQLDatabase(t, server), relay.Config{})
	s.move(name, func() {
		s.stop()
		renamed := sqltest.NewMySQLDatabase(t, server)
		for _, table := range tablesOf(t, s.db) {
			execute(t, s.db, fmt.Sprintf("RENAME TABLE `%s` TO `%s`.`%[1]s`", table, renamed.DBName))
		}
		s.goTo(renamed)
		s.refused(group{}, relay.Config{}, s.sink(), "another database of the server")
		ob, err := sqloutbox.New(s.db, s.dialect, sqloutbox.Config{})
		require.NoError(t, err)
		require.NoError(t, ob.Rebase(t.Context(), sqloutbox.RebaseRequest{By: by()}))
		s.start()
	})
}

// failOver kills a server that answers a commit when its replica has it, and promotes that under a relay and consumers that run. The
// producers pause, so that the judge knows what was committed.
func (s *sqlService) failOver(t *testing.T, name string) {
	t.Helper()
	p := s.replicate(t)
	p.semiSynchronous(t, s.dialect)
	s.begin(t, p.address(), brief())
	s.move(name, func() {
		s.stopWriting()
		p.kill(t)
		s.await("the replica has carried out what it has", func() bool {
			return strings.Contains(statusOf(t, p.onReplica), "has read all relay log; waiting for more updates")
		})
		execute(t, p.onReplica, "STOP REPLICA")
		p.there.Store(&p.replica.Addr)
	})
	require.False(t, s.said(wentBack))
}

// wentBack is what a subscriber logs if its group is ahead of the database.
const wentBack = "the database went back behind the offsets of the consumer group"

// loseCommits does the same with a replica that gets nothing for a while.
func (s *sqlService) loseCommits(t *testing.T, name string) {
	t.Helper()
	p := s.replicate(t)
	s.begin(t, p.address(), brief())
	s.move(name, func() {
		s.await("the replica has effects", func() bool {
			var n int
			err := p.onReplica.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM `"+s.database.DBName+"`.billed").Scan(&n)
			return err == nil && n > 20
		})
		execute(t, p.onReplica, "STOP REPLICA")
		s.progress(20)
		s.effects("billed")
		s.stopWriting()
		s.await("nothing is on its way", func() bool {
			delayed, err := s.admin.Delayed(t.Context(), admin.DelayedQuery{})
			return err == nil && len(delayed) == 0
		})
		s.allSent()
		s.sending.begin()
		p.kill(t)
		s.excuse(p.kept(t, s.database.DBName))
		p.there.Store(&p.replica.Addr)
		require.Empty(t, s.stats().Slots[0].Problem, "the position went back with the log")
	})
	require.True(t, s.said(wentBack))
}

// brief is a relay that is soon replaced.
func brief() relay.Config {
	return relay.Config{Lease: 10 * time.Second, PublishTimeout: 5 * time.Second, LeaseMargin: 500 * time.Millisecond}
}

// pair is a server and its replica.
type pair struct {
	server          *testenv.PrivateMySQLServer
	source, replica *mysql.Config
	onReplica       *sql.DB                // outside of any database
	there           atomic.Pointer[string] // where connections lead
}

func (s *sqlService) replicate(t *testing.T) *pair {
	t.Helper()
	p := &pair{}
	p.source, p.replica = sqltest.Replicated(t, func(tb testing.TB, settings map[string]string) *testenv.PrivateMySQLServer {
		tb.Helper()
		started := s.private(tb, settings)
		if p.server == nil {
			p.server = started
		}
		return started
	})
	p.there.Store(&p.source.Addr)
	on := p.replica.Clone()
	on.DBName = ""
	p.onReplica = sqltest.OpenMySQL(t, on, nil)
	return p
}

// address leads to the server, and later to the replica.
func (p *pair) address() *mysql.Config {
	config := p.source.Clone()
	config.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, *p.there.Load())
	}
	return config
}

// kill ends the server. At the end of the test it lives again, so that its database can be dropped.
func (p *pair) kill(t *testing.T) {
	t.Helper()
	p.server.Kill()
	t.Cleanup(p.server.Start)
}

// semiSynchronous lets the server answer a commit when the replica has it.
func (p *pair) semiSynchronous(t *testing.T, dialect outbox.Dialect) {
	t.Helper()
	source, replica := "source", "replica"
	db := sqltest.OpenMySQL(t, p.source, nil)
	if dialect == outbox.MariaDB {
		source, replica = "master", "slave"
		execute(t, db, "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC")
	} else {
		execute(t, db, "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'")
		execute(t, p.onReplica, "INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'")
	}
	execute(t, db, "SET GLOBAL rpl_semi_sync_"+source+"_timeout = 3600000", "SET GLOBAL rpl_semi_sync_"+source+"_enabled = 1")
	execute(t, p.onReplica, "SET GLOBAL rpl_semi_sync_"+replica+"_enabled = 1", "STOP REPLICA", "START REPLICA")
	require.Eventually(t, func() bool {
		var name, clients string
		err := db.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_"+source+"_clients'").Scan(&name, &clients)
		return err == nil && clients == "1"
	}, patience, 20*time.Millisecond, "the replica answers for commits")
}

// kept returns the messages that the replica has.
func (p *pair) kept(t *testing.T, database string) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	for _, table := range []string{"leat_outbox", "leat_outbox_delayed"} {
		for _, id := range texts(t, p.onReplica, "SELECT payload FROM `"+database+"`."+table+" WHERE shard >= 0") {
			ids[id] = true
		}
	}
	return ids
}

// statusOf returns what a replica says of itself.
func statusOf(t *testing.T, db *sql.DB) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SHOW REPLICA STATUS")
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	require.NoError(t, err)
	require.True(t, rows.Next())
	values := scan(t, rows, len(columns))
	require.NoError(t, rows.Err())
	return fmt.Sprintf("%s", values)
}

// scan returns the values of a row.
func scan(t *testing.T, rows *sql.Rows, columns int) []any {
	t.Helper()
	values, places := make([]any, columns), make([]any, columns)
	for i := range values {
		places[i] = &values[i]
	}
	require.NoError(t, rows.Scan(places...))
	return values
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

// queryer is a pool or one of its connections.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// texts returns a column.
func texts(t *testing.T, q queryer, query string) (all []string) {
	t.Helper()
	rows, err := q.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		all = append(all, "")
		require.NoError(t, rows.Scan(&all[len(all)-1]))
	}
	require.NoError(t, rows.Err())
	return all
}

func tablesOf(t *testing.T, q queryer) []string {
	t.Helper()
	return texts(t, q, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()")
}

// copyDatabase copies all tables as they are at one moment, as a dump and its restore do.
func copyDatabase(t *testing.T, from, to *mysql.Config) {
	t.Helper()
	source, err := sqltest.OpenMySQL(t, from, nil).Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, source.Close()) }()
	_, err = source.ExecContext(t.Context(), "START TRANSACTION WITH CONSISTENT SNAPSHOT")
	require.NoError(t, err)
	there := sqltest.OpenMySQL(t, to, map[string]string{"sql_mode": "'NO_AUTO_VALUE_ON_ZERO'"})
	for _, table := range tablesOf(t, source) {
		var name, create string
		require.NoError(t, source.QueryRowContext(t.Context(), "SHOW CREATE TABLE `"+table+"`").Scan(&name, &create))
		execute(t, there, create)
		rows, err := source.QueryContext(t.Context(), "SELECT * FROM `"+table+"`")
		require.NoError(t, err)
		copyRows(t, there, table, rows)
	}
}

// copyRows closes rows.
func copyRows(t *testing.T, there *sql.DB, table string, rows *sql.Rows) {
	t.Helper()
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var all []any
	for rows.Next() {
		all = append(all, scan(t, rows, len(columns))...)
	}
	require.NoError(t, rows.Err())
	row := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ") + ")"
	for values := range slices.Chunk(all, 500*len(columns)) {
		many := strings.TrimSuffix(strings.Repeat(row+", ", len(values)/len(columns)), ", ")
		_, err := there.ExecContext(t.Context(), "INSERT INTO `"+table+"` VALUES "+many, values...)
		require.NoError(t, err, table)
	}
}
