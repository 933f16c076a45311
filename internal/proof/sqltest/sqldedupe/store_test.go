package sqldedupe_test

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/dedupetest"
	"github.com/leat-go/leat/dedupe/sqldedupe"
	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

//leat:level 1
func TestMain(m *testing.M) { testenv.Main(m) }

type subject struct {
	*sqldedupe.Store

	db *sql.DB
}

// Lose implements dedupetest.Subject.
func (s subject) Lose(ctx context.Context, key dedupe.Key) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM leat_dedupe WHERE consumer = ? AND id = ?", []byte(key.Consumer), []byte(key.ID))
	return err
}

func databases() map[outbox.Dialect]func(tb testing.TB) *sql.DB {
	return map[outbox.Dialect]func(tb testing.TB) *sql.DB{
		outbox.MySQL: sqltest.MySQL, outbox.MariaDB: sqltest.MariaDB, outbox.SQLite: sqltest.SQLite,
	}
}

func newSubject(t *testing.T, dialect outbox.Dialect, db *sql.DB) subject {
	t.Helper()
	s, err := sqldedupe.New(db, dialect, sqldedupe.Config{})
	require.NoError(t, err)
	require.NoError(t, s.Migrate(t.Context()))
	return subject{s, db}
}

func TestStore_Conformance(t *testing.T) {
	t.Parallel()
	for dialect, open := range databases() {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			dedupetest.Run(t, func(t *testing.T) dedupetest.Subject {
				t.Helper()
				return newSubject(t, dialect, open(t))
			})
		})
	}
}

// TestD3_UntilTTL: expired records count as absent, pruned or not, and nothing else is pruned.
func TestD3_UntilTTL(t *testing.T) {
	t.Parallel()
	for dialect, open := range databases() {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, dialect, open(t))
			claim := func(id string) dedupe.Status {
				c, err := s.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: id}, dedupe.Request{Token: "t" + id, Lease: time.Minute})
				require.NoError(t, err)
				return c.Status
			}
			for _, id := range []string{"old", "older", "kept"} {
				require.Equal(t, dedupe.Claimed, claim(id))
				_, err := s.Complete(t.Context(), dedupe.Key{Consumer: "c", ID: id}, "t"+id, []byte{0})
				require.NoError(t, err)
				require.Equal(t, dedupe.Done, claim(id))
			}
			_, err := s.db.ExecContext(t.Context(), "UPDATE leat_dedupe SET expires_at = 1 WHERE id <> ?", []byte("kept"))
			require.NoError(t, err)
			require.Equal(t, dedupe.Claimed, claim("old"))
			n, err := s.Prune(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
			require.Equal(t, dedupe.Done, claim("kept"))
			require.Equal(t, dedupe.Claimed, claim("older"))
		})
	}
}

// TestD3_ClockThatJumps: a completed message is not forgotten while the server's clock is a month ahead,
// pruned or not. Neither is one that was completed while the clock was a month behind.
func TestD3_ClockThatJumps(t *testing.T) {
	t.Parallel()
	for dialect, server := range map[outbox.Dialect]func(tb testing.TB) testenv.MySQLServer{
		outbox.MySQL: testenv.MySQL, outbox.MariaDB: testenv.MariaDB,
	} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			config := sqltest.NewMySQLDatabase(t, server(t).URL)
			off := func(months int) subject {
				at := strconv.FormatInt(time.Now().AddDate(0, months, 0).Unix(), 10)
				return newSubject(t, dialect, sqltest.OpenMySQL(t, config, map[string]string{"timestamp": at}))
			}
			right, ahead, behind := newSubject(t, dialect, sqltest.OpenMySQL(t, config, nil)), off(1), off(-1)
			claim := func(s subject, id, token string) dedupe.Status {
				c, err := s.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: id}, dedupe.Request{Token: token, Lease: time.Minute})
				require.NoError(t, err)
				return c.Status
			}
			for id, s := range map[string]subject{"right": right, "behind": behind} {
				require.Equal(t, dedupe.Claimed, claim(s, id, "t"))
				_, err := s.Complete(t.Context(), dedupe.Key{Consumer: "c", ID: id}, "t", nil)
				require.NoError(t, err)
				for _, other := range []subject{ahead, right} {
					require.Equal(t, dedupe.Done, claim(other, id, "u"), id)
					n, err := other.Prune(t.Context())
					require.NoError(t, err)
					require.Zero(t, n, id)
				}
			}
		})
	}
}

// TestD4_ClockSetBack: a lease that was given while the clock was an hour ahead blocks others no longer
// than any other lease.
func TestD4_ClockSetBack(t *testing.T) {
	t.Parallel()
	for dialect, open := range databases() {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, dialect, open(t))
			key := dedupe.Key{Consumer: "c", ID: "id"}
			claim := func(token string) dedupe.Claim {
				c, err := s.Claim(t.Context(), key, dedupe.Request{Token: token, Lease: 5 * time.Second})
				require.NoError(t, err)
				return c
			}
			require.Equal(t, dedupe.Claimed, claim("t").Status)
			require.NoError(t, s.Extend(t.Context(), key, "t", time.Minute))
			_, err := s.db.ExecContext(t.Context(), "UPDATE leat_dedupe SET lease_until = lease_until + 3600000000, expires_at = expires_at + 3600000000")
			require.NoError(t, err)
			require.Equal(t, dedupe.Claim{Status: dedupe.Busy, Attempt: 1, Remaining: time.Minute}, claim("u"), "it begins again")
			require.Eventually(t, func() bool { return claim("u").Remaining < time.Minute }, time.Minute, time.Millisecond, "and ends")
		})
	}
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	db := sqltest.SQLite(t)
	for field, cfg := range map[string]sqldedupe.Config{"Table": {Table: "a b"}, "TTL": {TTL: time.Millisecond}} {
		_, err := sqldedupe.New(db, outbox.SQLite, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, field+" =")
	}
	_, err := sqldedupe.New(db, "oracle", sqldedupe.Config{})
	require.ErrorContains(t, err, "oracle")
	s, err := sqldedupe.New(db, outbox.SQLite, sqldedupe.Config{})
	require.NoError(t, err)
	_, err = s.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: "i"}, dedupe.Request{Token: "t", Lease: time.Minute})
	require.ErrorIs(t, err, outbox.ErrNotMigrated)
	_, err = s.Claim(t.Context(), dedupe.Key{}, dedupe.Request{})
	require.ErrorIs(t, err, dedupe.ErrInvalidKey)
	files, err := sqldedupe.Migrations(outbox.MySQL, sqldedupe.Config{Table: "mine"})
	require.NoError(t, err)
	require.Contains(t, files["00001_init.sql"], "`mine`")
}

// TestD8_RefusedSessionLeavesThePool: another part of the service has made the only session of the pool
// read-only. One call fails, and the next one gets another session.
func TestD8_RefusedSessionLeavesThePool(t *testing.T) {
	t.Parallel()
	for dialect, spoil := range map[outbox.Dialect]string{
		outbox.MySQL:   "SET SESSION TRANSACTION READ ONLY",
		outbox.MariaDB: "SET SESSION TRANSACTION READ ONLY",
		outbox.SQLite:  "PRAGMA query_only = 1",
	} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, dialect, databases()[dialect](t))
			s.db.SetMaxOpenConns(1)
			step := func() error {
				_, err := s.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: "m"}, dedupe.Request{Token: "t", Lease: time.Minute})
				return err
			}
			_, err := s.db.ExecContext(t.Context(), spoil)
			require.NoError(t, err)
			require.Error(t, step())
			require.NoError(t, step())
		})
	}
}

// TestMigrate_RefusesWhatIsLost: a database in memory disappears with its last connection, and an
// exclusive one allows only one connection.
func TestMigrate_RefusesWhatIsLost(t *testing.T) {
	t.Parallel()
	for text, with := range map[string]url.Values{
		"journal_mode = memory":    {"mode": {"memory"}, "cache": {"shared"}},
		"locking_mode = exclusive": {"_pragma": {"busy_timeout(10000)", "locking_mode(EXCLUSIVE)", "journal_mode(WAL)", "synchronous(FULL)"}},
	} {
		db := sqltest.OpenSQLite(t, filepath.Join(t.TempDir(), "leat.db"), with)
		s, err := sqldedupe.New(db, outbox.SQLite, sqldedupe.Config{})
		require.NoError(t, err)
		require.ErrorContains(t, s.Migrate(t.Context()), text)
	}
}

// TestGrantsAreEnough calls every function with the documented grants.
func TestGrantsAreEnough(t *testing.T) {
	t.Parallel()
	for dialect, server := range map[outbox.Dialect]func(tb testing.TB) testenv.MySQLServer{
		outbox.MySQL: testenv.MySQL, outbox.MariaDB: testenv.MariaDB,
	} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			config := sqltest.NewMySQLDatabase(t, server(t).URL)
			root := sqltest.OpenMySQL(t, config, nil)
			newSubject(t, dialect, root)
			s, err := sqldedupe.New(sqltest.DocumentedGrants(t, "databases.md", "Grants of dedupe records").As(t, root, config, "consumer"),
				dialect, sqldedupe.Config{})
			require.NoError(t, err)
			status, err := s.SchemaStatus(t.Context())
			require.NoError(t, err)
			require.Equal(t, status.Latest, status.Current)
			key := dedupe.Key{Consumer: "c", ID: "a"}
			for _, end := range []func() error{
				func() error { return s.Release(t.Context(), key, "t") },
				func() error { _, err := s.Complete(t.Context(), key, "t", nil); return err },
			} {
				_, err := s.Claim(t.Context(), key, dedupe.Request{Token: "t", Lease: time.Minute})
				require.NoError(t, err)
				require.NoError(t, s.Extend(t.Context(), key, "t", time.Minute))
				require.NoError(t, end())
			}
			_, err = root.ExecContext(t.Context(), "UPDATE leat_dedupe SET expires_at = 0")
			require.NoError(t, err)
			removed, err := s.Prune(t.Context())
			require.NoError(t, err)
			require.Equal(t, int64(1), removed)
		})
	}
}
