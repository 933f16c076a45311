package sqloutbox_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// as opens a pool of a new user who has these grants and no others, by tables.
func as(t *testing.T, root *sql.DB, config *mysql.Config, role string, grants map[string]string) *sql.DB {
	t.Helper()
	name := role + config.DBName[len("leat_test_"):][:17]
	run := func(ctx context.Context, statement string) {
		_, err := root.ExecContext(ctx, statement)
		require.NoError(t, err, statement)
	}
	run(t.Context(), "CREATE USER '"+name+"' IDENTIFIED BY ''")
	t.Cleanup(func() { run(context.WithoutCancel(t.Context()), "DROP USER '"+name+"'") })
	for table, rights := range grants {
		run(t.Context(), "GRANT "+rights+" ON leat_outbox"+table+" TO '"+name+"'")
	}
	own := config.Clone()
	own.User, own.Passwd = name, ""
	return sqltest.OpenMySQL(t, own, nil)
}

// TestGrantsAreEnough works under the grants of docs/databases.md.
func TestGrantsAreEnough(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		root := sqltest.OpenMySQL(t, config, nil)
		newOutbox(t, root, dialect)
		pool := func(role string, grants map[string]string) (*sql.DB, *sqloutbox.Outbox) {
			db := as(t, root, config, role, grants)
			ob, err := sqloutbox.New(db, dialect, sqloutbox.Config{})
			require.NoError(t, err)
			return db, ob
		}
		producerDB, producer := pool("p", map[string]string{"": "INSERT", "_delayed": "INSERT", "_locks": "SELECT, UPDATE"})
		relayDB, relay := pool("r", map[string]string{
			"": "SELECT, INSERT, UPDATE", "_groups": "SELECT, INSERT, UPDATE", "_held": "SELECT, INSERT, UPDATE, DELETE",
			"_audit": "INSERT", "_locks": "SELECT", "_meta": "SELECT", "_delayed": "SELECT", "_migrations": "SELECT",
		})
		_, keeper := pool("m", map[string]string{
			"": "SELECT, INSERT, UPDATE, DELETE", "_delayed": "SELECT, DELETE", "_locks": "SELECT, UPDATE", "_groups": "SELECT",
			"_held": "SELECT, DELETE", "_audit": "SELECT, DELETE", "_meta": "SELECT, UPDATE",
		})

		require.NoError(t, open(t, producerDB, producer, message("k", "rolled back")).Rollback())
		later := message("k", "later")
		later.NotBefore = time.Now().Add(time.Hour)
		commit(t, producer, message("k", "a"), message("l", "b"), message("", "c"), later)

		src, err := relay.Source(sqloutbox.SourceConfig{})
		require.NoError(t, err)
		require.NoError(t, src.Check(t.Context()))
		s := acquire(t, relay, sqloutbox.SourceConfig{})
		require.Equal(t, []string{"a", "b", "c"}, drain(t, s))
		require.NoError(t, s.Renew(t.Context(), lease))
		tx, err := relayDB.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), "SELECT seq FROM leat_outbox WHERE seq BETWEEN 1 AND 1 FOR UPDATE")
		require.NoError(t, err, "the look before a gap is closed")
		require.NoError(t, tx.Rollback())

		_, err = root.ExecContext(t.Context(), "UPDATE leat_outbox_delayed SET not_before = 0")
		require.NoError(t, err)
		m, err := sqloutbox.NewMaintenance(keeper, sqloutbox.MaintenanceConfig{
			Retention: time.Microsecond, KeepAudit: time.Microsecond, KeepDead: time.Microsecond,
		})
		require.NoError(t, err)
		report, err := m.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, sqloutbox.MaintenanceReport{Promoted: 1, Closed: 1, PinnedBy: []string{"default"}}, report)
		require.Equal(t, []string{"later"}, drain(t, s))
		report, err = m.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(4), report.Deleted)
		require.NoError(t, s.Release(t.Context()))
	})
}
