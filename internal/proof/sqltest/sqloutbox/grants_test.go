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
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// documented creates the triggers of docs/databases.md. It returns the pool of root, and a function that
// opens pools of users with the grants documented there.
func documented(t *testing.T, config *mysql.Config, dialect outbox.Dialect) (root *sql.DB, as func(roles ...string) *sql.DB) {
	t.Helper()
	root = sqltest.OpenMySQL(t, config, nil)
	newOutbox(t, root, dialect)
	d := sqltest.DocumentedGrants(t, "databases.md", "Grants")
	for _, trigger := range d.Triggers {
		exec(t, root, trigger)
	}
	return root, func(roles ...string) *sql.DB { return d.As(t, root, config, roles...) }
}

// TestGrantsAreEnough works with the grants of docs/databases.md.
func TestGrantsAreEnough(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		root, as := documented(t, config, dialect)
		pool := func(role string) (*sql.DB, *sqloutbox.Outbox) {
			db := as(role)
			ob, err := sqloutbox.New(db, dialect, sqloutbox.Config{})
			require.NoError(t, err)
			return db, ob
		}
		producerDB, producer := pool("producer")
		relayDB, relay := pool("relay")
		_, keeper := pool("maintenance")

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
		require.Equal(t, admin.MaintenanceReport{Promoted: 1, Gaps: 1, PinnedBy: []string{"default"}}, report)
		require.Equal(t, []string{"later"}, drain(t, s))
		report, err = m.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(4), report.Deleted)
		require.NoError(t, s.Release(t.Context()))
	})
}

// TestS17_NumbersAndLocksAreNotAProducers: with the documented grants and triggers, a producer can neither
// choose a number nor change which locks exist. As the control, it can choose a number without the
// triggers.
func TestS17_NumbersAndLocksAreNotAProducers(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		root, as := documented(t, config, dialect)
		db := as("producer")
		const row, values = "shard, id, topic, msg_key, type, payload, headers, created_at", "0, 'i', 't', 'k', '', 'p', '', 1"
		for _, statement := range []string{
			"INSERT INTO leat_outbox (seq, " + row + ") VALUES (9223372036854775807, " + values + ")",
			"INSERT INTO leat_outbox (" + row + ") VALUES (" + values + ") ON DUPLICATE KEY UPDATE seq = 9223372036854775807",
			"REPLACE INTO leat_outbox (" + row + ") VALUES (" + values + ")",
			"INSERT INTO leat_outbox_delayed (no, not_before, " + row + ") VALUES (9223372036854775807, 1, " + values + ")",
			"UPDATE leat_outbox_locks SET bucket = -1 WHERE bucket = 7",
			"DELETE FROM leat_outbox_locks WHERE bucket = 7",
			"INSERT INTO leat_outbox_locks (bucket) VALUES (5000)",
			"LOCK TABLES leat_outbox_locks WRITE",
			"UPDATE leat_outbox_meta SET floor = 9223372036854775807",
		} {
			_, err := db.ExecContext(t.Context(), statement)
			require.ErrorContains(t, err, "denied", statement)
		}
		chooses := func(insert string) error {
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			defer func() { require.NoError(t, conn.Close()) }()
			_, err = conn.ExecContext(t.Context(), "SET SESSION insert_id = 9223372036854775807")
			require.NoError(t, err)
			_, err = conn.ExecContext(t.Context(), insert)
			return err
		}
		log := "INTO leat_outbox (" + row + ") VALUES (" + values + ")"
		delayed := "INTO leat_outbox_delayed (not_before, " + row + ") VALUES (1, " + values + ")"
		for _, insert := range []string{"INSERT " + log, "INSERT IGNORE " + log, "INSERT " + delayed, "INSERT IGNORE " + delayed} {
			require.ErrorContains(t, chooses(insert), "insert_id is set", insert)
		}
		ob, err := sqloutbox.New(sqltest.OpenMySQL(t, config, nil), dialect, sqloutbox.Config{})
		require.NoError(t, err)
		commit(t, ob, message("k", "a"))
		require.Equal(t, []string{"a"}, drain(t, acquire(t, ob, sqloutbox.SourceConfig{Start: driver.Start{Oldest: true}})))

		exec(t, root, "DROP TRIGGER leat_outbox_number")
		require.NoError(t, chooses("INSERT "+log), "the control")
		err = ob.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return ob.Enqueue(ctx, tx, message("k", "b")) })
		require.Error(t, err, "the last number was given out")
	})
}
