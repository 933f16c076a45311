package main_test

import (
	"database/sql"
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// findings returns what the doctor finds of the checks that match, and how it exits.
func (s *session) findings(only string, args ...string) ([]doctor.Finding, int) {
	s.t.Helper()
	r := s.leat(append([]string{"doctor", "--only", only, "-o", "json"}, args...)...)
	var found struct{ Findings []doctor.Finding }
	require.NoError(s.t, json.Unmarshal([]byte(r.out), &found), r.err)
	return found.Findings, r.code
}

// one is the single finding of a check.
func (s *session) one(verdict doctor.Verdict, text, check string) {
	s.t.Helper()
	found, _ := s.findings(check)
	require.Len(s.t, found, 1, check)
	require.Equal(s.t, verdict, found[0].Verdict, found[0].Text)
	require.Contains(s.t, found[0].Text, text, check)
	if verdict != doctor.OK {
		require.NotEmpty(s.t, found[0].Advice, check)
	}
}

// A database that is well is well in every check; a schema that is missing, lock rows that
// are missing, and a transaction that stays open are told.
func TestSQL_Doctor(t *testing.T) {
	t.Parallel()
	onSQL(t, func(t *testing.T, s *sqlShop) {
		o := newSession(t, s.url)
		if s.dialect == outbox.SQLite {
			path := strings.TrimPrefix(s.url, "sqlite:")
			require.NoError(t, os.Chmod(path, 0o604))
			o.one(doctor.Warn, "every user of this machine may read", "file.permissions")
			require.NoError(t, os.Chmod(path, 0o602))
			o.one(doctor.Warn, "every user of this machine may write", "file.permissions")
			require.NoError(t, os.Chmod(path, 0o600))
		}
		found, code := o.findings("*")
		require.Zero(t, code, found)
		for _, f := range found {
			// The shared servers write each page once, and nobody forgets yet.
			if f.Check != "server.durability" && f.Check != "inbox.retention" {
				require.Equal(t, doctor.OK, f.Verdict, f)
			}
		}
		require.Greater(t, len(found), 15)

		if s.dialect == outbox.SQLite {
			s.exec(t, "PRAGMA journal_mode = DELETE")
			o.one(doctor.Warn, "journal_mode is delete", "file.journal")
		} else {
			tx, err := s.db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			_, err = tx.ExecContext(t.Context(), "UPDATE leat_outbox_locks SET bucket = bucket LIMIT 1")
			require.NoError(t, err)
			o.eventually(doctor.Warn, "has had a transaction open", "holders.transactions", "--long", "1s")
			require.NoError(t, tx.Rollback())
			s.exec(t, "DELETE FROM leat_outbox_locks LIMIT 1")
			o.one(doctor.Fail, "leat_outbox_locks has 4096 rows", "store.setup")
		}
		s.exec(t, "DROP TABLE leat_outbox_migrations")
		o.one(doctor.Fail, "is not there", "schema.outbox")
		_, code = o.findings("schema.outbox")
		require.Equal(t, 5, code)
	})
}

// trxCache is more than the 100 ms for which InnoDB answers from a copy of its list of
// transactions. Each look begins them anew, so that who looks more often sees nothing new.
const trxCache = 300 * time.Millisecond

// eventually waits until a check finds it.
func (s *session) eventually(verdict doctor.Verdict, text, check string, args ...string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		found, _ := s.findings(check, args...)
		for _, f := range found {
			if f.Verdict == verdict && strings.Contains(f.Text, text) {
				return true
			}
		}
		return false
	}, patience, trxCache, text)
}

func (s *sqlShop) exec(t *testing.T, statement string) {
	t.Helper()
	_, err := s.db.ExecContext(t.Context(), statement)
	require.NoError(t, err, statement)
}

// What a user may not see is unknown, and never ok.
func TestSQL_DoctorRights(t *testing.T) {
	t.Parallel()
	onSQL(t, func(t *testing.T, s *sqlShop) {
		if s.dialect == outbox.SQLite {
			t.Skip("has no users")
		}
		user := "u" + testenv.NewDatabaseName("")[len("leat_test_"):]
		user = user[:min(len(user), 30)]
		s.exec(t, "CREATE USER '"+user+"'@'%' IDENTIFIED BY 'se cret'")
		t.Cleanup(func() { _, _ = s.db.Exec("DROP USER '" + user + "'@'%'") })
		var name string
		require.NoError(t, s.db.QueryRow("SELECT DATABASE()").Scan(&name))
		s.exec(t, "GRANT SELECT ON `"+name+"`.* TO '"+user+"'@'%'")
		o := newSession(t, strings.Replace(s.url, "root@", user+":se%20cret@", 1))
		o.one(doctor.Unknown, "PROCESS", "holders.transactions")
		o.one(doctor.OK, "", "server.numbers")
		if s.dialect == outbox.MySQL {
			o.one(doctor.Unknown, "XAER_RMERR", "holders.prepared")
		}
		r := newSession(t, strings.Replace(s.url, "root@", user+":wro/ng?@", 1)).leat("status")
		require.Equal(t, 2, r.code, r.err)
		require.NotContains(t, r.err, "wro")
		require.NotContains(t, r.err, "panic")
		r = newSession(t, strings.Replace(s.url, "root@", user+":wro%3Fng@", 1)).leat("status")
		require.Equal(t, 1, r.code, r.err)
		require.Contains(t, r.err, "Access denied")
		require.NotContains(t, r.err, "wro")
	})
}

// What a server does not have is not called a missing privilege.
func TestSQL_DoctorLacks(t *testing.T) {
	t.Parallel()
	address, _ := newSQLDatabase(t, outbox.MySQL, testenv.MySQL(t).URL)
	u, err := url.Parse(address)
	require.NoError(t, err)
	control := faultnet.MySQLRewriter{Server: u.Host, Replace: []string{"XA RECOVER", "XA LIST"}}
	found, _ := newSession(t, sqlVia(t, address, control.Listen(t))).findings("holders.prepared")
	require.Len(t, found, 1)
	require.Equal(t, doctor.Unknown, found[0].Verdict)
	require.Contains(t, found[0].Text, "this server does not list prepared transactions: Error 1064")
	require.NotContains(t, found[0].Advice, "GRANT")
}

// A server whose settings are wrong is told, each by its name.
//
//leat:level 4
func TestSQL_DoctorSettings(t *testing.T) {
	t.Parallel()
	server := testenv.PrivateMariaDB(t, map[string]string{
		"auto-increment-increment": "2", "innodb-flush-log-at-trx-commit": "2", "log-bin": "binlog", "sync-binlog": "0", "binlog-format": "STATEMENT",
	})
	address, dsn := newSQLDatabase(t, outbox.MariaDB, server.URL)
	o := newSession(t, address)
	o.one(doctor.Fail, "is not there", "schema.outbox")
	require.Zero(t, o.leat("migrate", "up", "--yes").code)
	o.one(doctor.Fail, "auto_increment_increment is 2", "server.numbers")
	o.one(doctor.Fail, "binlog_format is STATEMENT", "server.binlog")
	o.one(doctor.Fail, "auto_increment_increment", "store.setup")
	found, code := o.findings("server.durability")
	require.Equal(t, 5, code)
	require.Len(t, found, 2)
	require.Equal(t, doctor.Fail, found[0].Verdict, found)
	require.Equal(t, doctor.Warn, found[1].Verdict, found)
	require.Contains(t, found[1].Text, "sync_binlog is 0")

	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec("SET GLOBAL read_only = ON")
	require.NoError(t, err)
	o.one(doctor.Fail, "read_only is ON", "server.read_only")
	_, err = db.Exec("SET GLOBAL read_only = OFF")
	require.NoError(t, err)
	r := newSession(t, strings.Replace(address, "mariadb://", "mysql://", 1)).leat("doctor", "--only", "store.setup")
	require.Equal(t, 5, r.code)
	require.Contains(t, r.out, "the server is")
}

// A gateway before several shards: a COMMIT may end between two of them.
func TestSQL_DoctorOfShards(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string, _ *sql.DB) {
		u, err := url.Parse(address)
		require.NoError(t, err)
		newSession(t, address).one(doctor.OK, "", "server.cluster")
		for mode, want := range map[string]doctor.Verdict{"MULTI": doctor.Warn, "SINGLE": doctor.OK} {
			gateway := faultnet.MySQLRewriter{Server: u.Host, Replace: []string{"@@transaction_mode", "'" + mode + "'"}}.Listen(t)
			text := ""
			if want == doctor.Warn {
				text = "a COMMIT goes from shard to shard"
			}
			newSession(t, sqlVia(t, address, gateway)).one(want, text, "server.cluster")
		}
	})
}
