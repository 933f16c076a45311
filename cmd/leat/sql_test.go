package main_test

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// Each command that looks prints for MySQL, MariaDB and SQLite what it prints for
// PostgreSQL; goldens that begin with sql are of what these stores know less, or otherwise.
func TestSQL_Looking(t *testing.T) {
	t.Parallel()
	onSQL(t, func(t *testing.T, s *sqlShop) {
		trouble(t, s)
		consume(t, s)
		for name, commands := range map[string][][]string{
			"sql-status":   {{"status"}, {"status", "--group", "mail"}, {"groups", "list"}, {"groups", "show", "default"}, {"migrate", "status"}},
			"parked":       {{"parked", "list"}, {"parked", "list", "--topic", "orders.*"}, {"parked", "list", "--retrying"}, {"parked", "keys"}, {"parked", "errors"}, {"parked", "show", "m-2"}},
			"dead":         {{"dead", "list", "--group", "mail"}, {"dead", "errors", "--group", "mail"}, {"dead", "show", "m-6", "--group", "mail"}},
			"delayed":      {{"delayed", "list"}, {"delayed", "show", "m-7"}},
			"messages":     {{"messages", "search"}, {"messages", "search", "--topic", "orders*", "--newest", "--limit", "2"}, {"messages", "show", "m-1", "--since", "1h"}, {"messages", "export", "--key", "ann"}},
			"sql-trace":    {{"trace", "m-1", "--since", "1h"}, {"trace", "m-2", "--since", "1h"}, {"trace", "m-3", "--since", "1h"}, {"trace", "m-6", "--since", "1h"}, {"trace", "m-7", "--since", "1h"}},
			"sql-audit":    {{"audit"}, {"audit", "--group", "mail"}, {"audit", "--newest", "--limit", "1"}},
			"inbox-parked": {{"inbox", "parked", "list"}, {"inbox", "parked", "list", "--consumer", "loyalty", "--state", "parked"}, {"inbox", "parked", "errors"}, {"inbox", "parked", "show", "m-2"}},
			"sql-inbox": {
				{"inbox", "status"},
				{"inbox", "consumers"},
				{"inbox", "lookup", "m-1"},
				{"inbox", "lookup", "m-2", "--consumer", "loyalty"},
				{"inbox", "attempts", "--consumer", "billing"},
				{"inbox", "audit"},
				{"inbox", "retention", "show"},
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				session := newSession(t, s.url)
				for _, command := range commands {
					session.run(0, append(command, "--time", "utc")...)
					session.run(0, append(command, "-o", "json")...)
				}
				session.golden(name)
			})
		}
	})
}

// What a store cannot do is refused, with the command and the store.
func TestSQL_Refuses(t *testing.T) {
	t.Parallel()
	onSQL(t, func(t *testing.T, s *sqlShop) {
		o := newSession(t, s.url)
		for want, args := range map[string][]string{
			"on <product> all groups begin anew at once, at the oldest message: give --all-groups --start oldest": {"rebase", "--group", "default", "--keep-position", "--reason", "r"},
			"on <product> all groups begin anew at once, at the oldest message: give --all-groups":                {"rebase", "--all-groups", "--start", "now", "--reason", "r"},
			"this store cannot list ranges: its log has none: leat retention ranges does not work on <product>":   {"retention", "ranges"},
			"this store cannot remember positions: leat inbox watermarks list does not work on <product>":         {"inbox", "watermarks", "list", "--consumer", "c"},
			"this store cannot be made to forget: leat inbox retention enable does not work on <product>":         {"inbox", "retention", "enable", "--retention", "14d"},
			"max-bytes = 1073741824: <product> cannot do this":                                                    {"retention", "run", "--retention", "7d", "--max-bytes", "1GiB", "--without-archive", "--yes"},
			`schema = shop: <product> cannot do this`:                                                             {"status", "--schema", "shop"},
			`forwarder = x: <product> cannot do this`:                                                             {"status", "--forwarder", "x"},
			`group = mail: the audit of <product> names no group`:                                                 {"replay", "--group", "mail", "--brokers", "k1:1", "--reason", "r", "--yes"},
			"--role \"ann=relay\": roles are looked at on PostgreSQL only, not on <product>":                      {"doctor", "--role", "ann=relay"},
		} {
			r := o.leat(args...)
			require.Equal(t, 2, r.code, r.err)
			require.Contains(t, s.alike(r.err), want)
		}
	})
}

// Commands that change something do on these stores what they do on PostgreSQL.
func TestSQL_Changing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, s *sqlShop, o *session){
		"changing-held": func(t *testing.T, s *sqlShop, o *session) {
			t.Helper()
			changeHeld(t, s, o)
		},
		"sql-changing-groups": func(t *testing.T, s *sqlShop, o *session) {
			t.Helper()
			trouble(t, s)
			changeGroups(o)
		},
		"sql-changing-inbox": func(t *testing.T, s *sqlShop, o *session) {
			t.Helper()
			consume(t, s)
			redrive := []string{"inbox", "parked", "redrive", "--consumer", "loyalty", "--reason", "imported"}
			o.run(0, append(redrive, "--all", "--chunk", "1", "--dry-run")...)
			o.run(0, append(redrive, "--key", "order-2", "--yes")...)
			o.run(0, "inbox", "parked", "skip", "--consumer", "loyalty", "--key", "order-3", "--reason", "obsolete", "--yes", "-o", "json")
			o.run(0, "inbox", "parked", "drop", "--consumer", "loyalty", "--all", "--reason", "obsolete", "--yes")
			o.run(0, "inbox", "parked", "list", "--time", "utc")
			o.run(0, "inbox", "audit", "--time", "utc")
		},
		"sql-retention": func(t *testing.T, s *sqlShop, o *session) {
			t.Helper()
			trouble(t, s)
			o.run(2, "retention", "run", "--retention", "7d")
			o.run(0, "retention", "run", "--retention", "1ms", "--without-archive", "--yes", "-o", "json")
			o.run(0, "messages", "search")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onSQL(t, func(t *testing.T, s *sqlShop) {
				o := newSession(t, s.url)
				change(t, s, o)
				o.golden(name)
			})
		})
	}
}

// A log that was emptied, and whose numbers begin anew.
func TestSQL_Rebase(t *testing.T) {
	t.Parallel()
	onSQL(t, func(t *testing.T, s *sqlShop) {
		s.enqueue(t, placed("m-1", "orders", "order-1", "fine"), placed("m-2", "orders", "order-2", "fine"))
		relayOnce(t, s, "", relay.Policy{}, nothing)
		o := newSession(t, s.url)
		rebase := []string{"rebase", "--reason", "emptied", "--all-groups"}
		o.run(0, append(rebase, "--start", "oldest", "--dry-run")...)

		empty := []string{"TRUNCATE TABLE leat_outbox"}
		if s.dialect == outbox.SQLite {
			empty = []string{"DELETE FROM leat_outbox", "DELETE FROM sqlite_sequence WHERE name = 'leat_outbox'"}
		}
		for _, statement := range empty {
			_, err := s.db.ExecContext(t.Context(), statement)
			require.NoError(t, err)
		}
		s.enqueue(t, placed("m-3", "orders", "order-1", "fine"))
		o.run(5, "doctor", "--only", "outbox.positions")
		o.run(0, append(rebase, "--start", "oldest", "--dry-run")...)
		o.run(2, append(rebase, "--start", "oldest")...)

		lead := "UPDATE leat_outbox_groups SET owner = 'web-1', lease_until = lease_until + ?"
		const years = int64(100 * 365 * 24 * time.Hour / time.Microsecond)
		_, err := s.db.ExecContext(t.Context(), lead, years)
		require.NoError(t, err)
		o.run(4, append(rebase, "--start", "oldest", "--yes")...)
		_, err = s.db.ExecContext(t.Context(), lead, -years)
		require.NoError(t, err)

		o.run(0, append(rebase, "--start", "oldest", "--yes", "-o", "json")...)
		o.run(0, "audit", "--action", "rebase", "--time", "utc")
		o.run(0, "doctor", "--only", "outbox.positions")
		o.golden("sql-rebase")

		var sent []string
		relayOnce(t, s, "", relay.Policy{}, func(r outbox.Record) error {
			sent = append(sent, r.ID)
			return nil
		})
		require.Equal(t, []string{"m-3"}, sent)
	})
}

func TestSQL_Replay(t *testing.T) {
	t.Parallel()
	onSQL(t, func(t *testing.T, s *sqlShop) { replay(t, s, newSession(t, s.url)) })
}

// Migrations are printed without a database. What is not there is told, and not made by
// looking.
func TestSQL_Migrate(t *testing.T) {
	t.Parallel()
	for product, want := range map[string]string{"mysql": "ENGINE=InnoDB", "mariadb": "ENGINE=InnoDB", "sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT", "postgres": "CREATE SCHEMA"} {
		r := newSession(t, "").leat("migrate", "sql", "--for", product, "--component", "outbox", "--component", "inbox", "--component", "dedupe")
		require.Zero(t, r.code, r.err)
		require.Contains(t, r.out, want, product)
		require.Contains(t, r.out, "-- dedupe/00001_", product)
	}
	require.Contains(t, newSession(t, "mysql://nowhere.invalid/x").leat("migrate", "sql", "--outbox", "orders_out").out, "`orders_out`")

	path := filepath.Join(t.TempDir(), "shop.db")
	o := newSession(t, "sqlite:"+path)
	for _, command := range [][]string{{"status"}, {"migrate", "status"}, {"migrate", "up", "--dry-run"}} {
		r := o.leat(command...)
		require.Equal(t, 1, r.code, r.err)
		require.Contains(t, r.err, "no such file or directory (leat migrate up makes it)")
	}
	require.Zero(t, o.leat("migrate", "up", "--component", "dedupe", "--yes").code)
	require.Equal(t, 5, o.leat("migrate", "status").code)
	r := o.leat("status")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "leat migrate up")
}

// What Vitess says of a statement that it cannot split is told with what a sharded keyspace needs.
func TestSQL_MigrateOnVitess(t *testing.T) {
	t.Parallel()
	address, _ := newSQLDatabase(t, outbox.MySQL, testenv.MySQL(t).URL)
	u, err := url.Parse(address)
	require.NoError(t, err)
	keyspace := strings.TrimPrefix(u.Path, "/")
	advice := "keyspace " + keyspace + " of Vitess: if it is sharded, name one of its shards as the database, " + keyspace + ":SHARD: "
	fails := []string{"CREATE TABLE", "CREATE TABLES"}
	for version, vitess := range map[string]bool{"VERSION()": false, "'8.4.6-Vitess'": true} {
		server := faultnet.MySQLRewriter{Server: u.Host, Replace: append([]string{"SELECT VERSION()", "SELECT " + version}, fails...)}
		r := newSession(t, sqlVia(t, address, server.Listen(t))).leat("migrate", "up", "--component", "dedupe", "--yes")
		require.Equal(t, 1, r.code, r.err)
		require.Contains(t, r.err, "Error 1064")
		require.Equal(t, vitess, strings.Contains(r.err, advice), r.err)
	}
}
