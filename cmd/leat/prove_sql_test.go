package main_test

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// onServers runs test on MySQL and MariaDB, with a database, and a pool that sees it.
func onServers(t *testing.T, test func(t *testing.T, address string, db *sql.DB)) {
	t.Helper()
	for dialect, server := range map[outbox.Dialect]func(testing.TB) testenv.MySQLServer{outbox.MySQL: testenv.MySQL, outbox.MariaDB: testenv.MariaDB} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			address, dsn := newSQLDatabase(t, dialect, server(t).URL)
			db, err := sql.Open("mysql", dsn)
			require.NoError(t, err)
			t.Cleanup(func() { db.Close() })
			test(t, address, db)
		})
	}
}

// scratchTables are the tables that runs have made.
func scratchTables(t *testing.T, db *sql.DB) (names []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE 'leat\\_prove%'")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(t, rows.Err())
	return names
}

// sqlVia is the database behind something that stands before its server.
func sqlVia(t *testing.T, address, host string) string {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	u.Host = host
	return u.String()
}

// On MySQL and MariaDB themselves all holds, and nothing is left behind.
func TestProveSQL_Holds(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string, db *sql.DB) {
		found := newSession(t, address).proven(0, "--workload", "3s")
		require.Len(t, found, 18)
		for name, f := range found {
			if name == "durability" { // servers of tests do without the disk
				require.NotEqual(t, prover.Broken, f.Outcome)
				continue
			}
			require.Equal(t, prover.OK, f.Outcome, "%s: %q", name, f.Details)
			require.NotEmpty(t, f.Protects)
		}
		require.Contains(t, found["workload"].Details[1], "0 lost, 0 doubled, 0 out of order, 0 invented")
		require.Empty(t, scratchTables(t, db))
	})
}

// A server that lacks one property: the probe of that property says so.
//
//leat:level 2
func TestProveSQL_Controls(t *testing.T) {
	t.Parallel()
	const skip = " FOR UPDATE SKIP LOCKED"
	for name, control := range map[string]struct {
		faultnet.MySQLRewriter

		probe, says string
	}{
		"several servers":                  {faultnet.MySQLRewriter{Replace: []string{"@@server_id", "UUID_SHORT()"}}, "reads.primary", "servers answer"},
		"reads that are late":              {faultnet.MySQLRewriter{Replace: []string{"_reads WHERE seq", "_reads WHERE false AND seq"}}, "reads.primary", "did not notice"},
		"sessions that change":             {faultnet.MySQLRewriter{Replace: []string{"CONNECTION_ID()", "UUID_SHORT()"}}, "sessions.stay", "sessions of the server"},
		"sessions in a transaction":        {faultnet.MySQLRewriter{Replace: []string{"INSERT INTO `x", "", "SELECT COUNT(*) FROM leat_prove", "SELECT 0 * COUNT(*) FROM leat_prove"}}, "sessions.start", "does not commit by itself"},
		"tables without transactions":      {faultnet.MySQLRewriter{Replace: []string{"ENGINE=InnoDB", "ENGINE=MyISAM"}}, "tables.transactions", "rolled back is there"},
		"numbers in steps":                 {faultnet.MySQLRewriter{Replace: []string{"SESSION autocommit = 1", "SESSION autocommit = 1, auto_increment_increment = 10"}}, "sequence", "most numbers are missing"},
		"numbers that nobody locks":        {faultnet.MySQLRewriter{Replace: []string{" FOR UPDATE NOWAIT", ""}}, "numbers.lock", "is not locked"},
		"named locks that always succeed":  {faultnet.MySQLRewriter{Replace: []string{"SELECT GET_LOCK(", "SELECT 1 OR GET_LOCK("}}, "locks.names", "two sessions hold"},
		"SKIP LOCKED that locks nothing":   {faultnet.MySQLRewriter{Replace: []string{skip, ""}}, "locks.rows", "gives away a row"},
		"rows that nobody locks":           {faultnet.MySQLRewriter{Replace: []string{"id = 1 FOR UPDATE SKIP", "id = 1 FOR UPDATE SKIP", "id = 1 FOR UPDATE", "id = 1"}}, "locks.rows", "does not wait for a row"},
		"sessions that stay":               {faultnet.MySQLRewriter{Keep: true}, "sessions.end", "whose connection was cut is not free"},
		"ids that are not unique":          {faultnet.MySQLRewriter{Replace: []string{"BINARY(16) NOT NULL PRIMARY KEY", "BINARY(16) NOT NULL"}}, "unique.waits", "does not wait"},
		"deadlocks that nobody sees":       {faultnet.MySQLRewriter{Replace: []string{"ENGINE=InnoDB", "ENGINE=MyISAM"}}, "deadlocks", "0 are ended"},
		"transactions with one snapshot":   {faultnet.MySQLRewriter{Replace: []string{"READ COMMITTED", "REPEATABLE READ"}}, "read.committed", "does not see"},
		"transactions that see all":        {faultnet.MySQLRewriter{Replace: []string{"READ COMMITTED", "READ UNCOMMITTED"}}, "read.committed", "not committed is seen"},
		"clocks that differ":               {faultnet.MySQLRewriter{Replace: []string{"UTC_TIMESTAMP(6)", "UTC_TIMESTAMP(6) - INTERVAL FLOOR(60 * RAND()) SECOND"}}, "clock", "behind that of another"},
		"a clock that stands":              {faultnet.MySQLRewriter{Replace: []string{"UTC_TIMESTAMP(6)", "'2026-01-01'"}}, "clock", "has moved by 0s"},
		"claims that nobody remembers":     {faultnet.MySQLRewriter{Replace: []string{"PRIMARY KEY (consumer, id)", "KEY (consumer, id)"}}, "claim.once", "had their effect more than once"},
		"another engine, to leat's Check":  {faultnet.MySQLRewriter{Replace: []string{"ENGINE=InnoDB", "ENGINE=MyISAM"}}, "leat.check", "leat refuses: Check"},
		"commits that are not on the disk": {faultnet.MySQLRewriter{Replace: []string{"@@innodb_flush_log_at_trx_commit", "'2'"}}, "durability", "innodb_flush_log_at_trx_commit is 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := newSQLDatabase(t, outbox.MySQL, testenv.MySQL(t).URL)
			u, err := url.Parse(address)
			require.NoError(t, err)
			control.Server = u.Host
			found := newSession(t, sqlVia(t, address, control.Listen(t))).proven(5, "--only", control.probe)
			f := found[control.probe]
			require.Equal(t, prover.Broken, f.Outcome, "%q", f.Details)
			require.Contains(t, strings.Join(f.Details, "\n"), control.says)
			require.NotEmpty(t, f.Advice)
		})
	}
}

// A server that takes no statement as large as leat's may be.
//
//leat:level 4
func TestProveSQL_Packets(t *testing.T) {
	t.Parallel()
	server := testenv.PrivateMySQL(t, map[string]string{"max-allowed-packet": "1M"})
	address, _ := newSQLDatabase(t, outbox.MySQL, server.URL)
	found := newSession(t, address).proven(5, "--only", "packets")
	requireOutcome(t, found["packets"], prover.Broken, "a statement of 9 MiB does not pass")
}

// splitMySQL returns a database, and the address of a splitter before its server and another one.
func splitMySQL(t *testing.T) (address, host string) {
	t.Helper()
	address, _ = newSQLDatabase(t, outbox.MySQL, testenv.MySQL(t).URL)
	u, err := url.Parse(address)
	require.NoError(t, err)
	reader, err := url.Parse(testenv.PrivateMySQL(t, nil).URL)
	require.NoError(t, err)
	db, err := sql.Open("mysql", "root@tcp("+reader.Host+")/")
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "CREATE DATABASE `"+u.Path[1:]+"`")
	require.NoError(t, err)
	return address, faultnet.MySQLSplitter{Writer: u.Host, Reader: reader.Host}.Listen(t)
}

// A splitter before two servers: nothing else is told, and no workload runs.
//
//leat:level 4
func TestProveSQL_Splitter(t *testing.T) {
	t.Parallel()
	address, host := splitMySQL(t)
	found := newSession(t, sqlVia(t, address, host)).proven(5, "--workload", "3s")
	requireOutcome(t, found["reads.primary"], prover.Broken, "2 servers answer")
	requireOutcome(t, found["sequence"], prover.OK, "")
	requireOutcome(t, found["tables.transactions"], prover.CouldNotTry, "follows from reads.primary")
	requireOutcome(t, found["workload"], prover.CouldNotTry, "follows from")
}

// A workload on servers that lose and repeat: the judge notices both.
//
//leat:level 4
func TestProveSQL_WorkloadIsJudged(t *testing.T) {
	t.Parallel()
	for name, control := range map[string]struct {
		faultnet.MySQLRewriter

		says string
	}{
		"claims that nobody remembers": {faultnet.MySQLRewriter{Replace: []string{"PRIMARY KEY (consumer, id)", "KEY (consumer, id)"}}, "I1: "},
		// Of two transactions of a key, the one that has drawn its number first is often the second one in the business.
		"keys with locks by chance": {faultnet.MySQLRewriter{
			Replace: []string{"_outbox_locks` WHERE bucket = ", "_outbox_locks` WHERE bucket = MICROSECOND(NOW(6)) % 4096 + 0 * "},
			Late:    "_keys SET version = version + 1",
		}, "O5: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := newSQLDatabase(t, outbox.MySQL, testenv.MySQL(t).URL)
			u, err := url.Parse(address)
			require.NoError(t, err)
			control.Server = u.Host
			f := newSession(t, sqlVia(t, address, control.Listen(t))).proven(5, "--only", "workload", "--workload", "20s")["workload"]
			requireOutcome(t, f, prover.Broken, control.says)
		})
	}
}

// Whoever interrupts it finds nothing left behind, and what a run has left that was killed, a later one removes.
func TestProveSQL_LeavesNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string, db *sql.DB) {
		cmd := exec.CommandContext(t.Context(), os.Getenv(binaryVariable), "prove", "--workload", "1h")
		cmd.Env = newSession(t, address).env
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool { return len(scratchTables(t, db)) > 0 }, patience, patience/1000)
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		_ = cmd.Wait()
		require.Equal(t, 130, cmd.ProcessState.ExitCode())
		require.Empty(t, scratchTables(t, db))

		table := func(ago time.Duration, end string) string {
			name := "leat_prove_" + strconv.FormatInt(time.Now().Add(-ago).Unix(), 10) + end
			_, err := db.ExecContext(t.Context(), "CREATE TABLE "+name+" (id INT)")
			require.NoError(t, err)
			return name
		}
		table(2*time.Hour, "_0a1b2c3d_rows")
		young, others := table(time.Minute, "_0a1b2c3d_rows"), table(2*time.Hour, "_ours")
		newSession(t, address).proven(0, "--only", "read.committed")
		require.ElementsMatch(t, []string{young, others}, scratchTables(t, db))
	})
}

// What a user may not is said before anything is tried.
func TestProveSQL_Rights(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string, db *sql.DB) {
		u, err := url.Parse(address)
		require.NoError(t, err)
		user := "u" + testenv.NewDatabaseName("")[len("leat_test_"):]
		run := func(statement string) {
			_, err := db.ExecContext(context.WithoutCancel(t.Context()), statement)
			require.NoError(t, err)
		}
		run("CREATE USER `" + user + "`@`%` IDENTIFIED BY ''")
		t.Cleanup(func() { run("DROP USER `" + user + "`@`%`") })
		run("GRANT SELECT ON `" + u.Path[1:] + "`.* TO `" + user + "`@`%`")
		u.User = url.User(user)
		r := newSession(t, u.String()).leat("prove")
		require.Equal(t, 1, r.code, r.err)
		require.Contains(t, r.err, "GRANT CREATE, DROP, INDEX, ALTER, SELECT, INSERT, UPDATE, DELETE on the database")
		run("GRANT CREATE, DROP, INDEX, ALTER, SELECT, INSERT, UPDATE, DELETE ON `" + u.Path[1:] + "`.* TO `" + user + "`@`%`")
		requireOutcome(t, newSession(t, u.String()).proven(0, "--only", "leat.*")["leat.check"], prover.OK, "")
	})
}

// A file of SQLite, with this program as its second process: the file itself is not made.
func TestProveSQL_File(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := newSession(t, "sqlite:"+dir+"/shop.db")
	o.env = append(o.env, "LANG=C") // runs the program
	for name, f := range o.proven(0, "--only", "processes.*") {
		requireOutcome(t, f, prover.OK, "")
		require.NotEmpty(t, f.Protects, name)
	}
	require.Regexp(t, `(?m)^processes\.exclude +ok$`, o.leat("prove", "--only", "processes.exclude").out)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	o.env[len(o.env)-1] = "LEAT_DATABASE_URL=sqlite:" + dir + "/nowhere/shop.db"
	r := o.leat("prove")
	require.Equal(t, 1, r.code, r.err)
	require.Contains(t, r.err, "nowhere")
}
