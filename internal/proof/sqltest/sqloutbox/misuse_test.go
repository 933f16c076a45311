package sqloutbox_test

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// TestO2_PreparedTransactionIsNotPassed: an XA transaction contains a message, is prepared, and its
// connection ends. Its number is not closed, retention stops before it, and its message is read once it is
// committed.
func TestO2_PreparedTransactionIsNotPassed(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		db := sqltest.OpenMySQL(t, config, nil)
		ob := newOutbox(t, db, dialect)
		commit(t, ob, message("", "a"))
		xa := "'" + config.DBName + "'" // ids are the server's
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { _, _ = db.ExecContext(context.WithoutCancel(t.Context()), "XA ROLLBACK "+xa) })
		for _, statement := range []string{
			"XA START " + xa,
			`INSERT INTO leat_outbox (shard, id, topic, msg_key, type, payload, headers, created_at)
				SELECT 0, 'i', 't', 'k', '', 'prepared', '', 1 FROM leat_outbox_locks WHERE bucket = 7 FOR UPDATE`,
			"XA END " + xa,
			"XA PREPARE " + xa,
		} {
			_, err := conn.ExecContext(t.Context(), statement)
			require.NoError(t, err, statement)
		}
		require.NoError(t, conn.Raw(func(c any) error { return c.(interface{ Close() error }).Close() }))
		_ = conn.Close()
		commit(t, ob, message("", "b"), message("", "c"))
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		require.Equal(t, []string{"a", "b", "c"}, drain(t, s))
		for range 2 {
			report, err := eager(t, ob).RunOnce(t.Context())
			require.NoError(t, err)
			require.Zero(t, report.Gaps)
			require.Equal(t, []string{"default"}, report.PinnedBy)
			require.Empty(t, drain(t, s))
		}
		exec(t, db, "XA COMMIT "+xa)
		require.Equal(t, []string{"prepared"}, drain(t, s))
	})
}

// TestFileThatIsLocked: another transaction writes for longer than busy_timeout. A call that has waited
// for it gets an error that says so, can be retried, and has changed nothing.
func TestFileThatIsLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "leat.db")
	newOutbox(t, sqltest.OpenSQLite(t, path, nil), outbox.SQLite)
	other, err := sqltest.OpenSQLite(t, path, nil).BeginTx(t.Context(), nil)
	require.NoError(t, err)
	pragmas := []string{"busy_timeout(50)", "journal_mode(WAL)", "synchronous(FULL)"}
	const said = "for longer than busy_timeout"

	db := sqltest.OpenSQLite(t, path, url.Values{"_pragma": pragmas})
	err = check(t, db, outbox.SQLite, sqloutbox.Config{}, sqloutbox.SourceConfig{})
	require.ErrorContains(t, err, said)
	require.NotErrorIs(t, err, driver.ErrSourceUnusable, "it can be tried again")
	ob, err := sqloutbox.New(db, outbox.SQLite, sqloutbox.Config{})
	require.NoError(t, err)
	require.ErrorContains(t, ob.InTx(t.Context(), func(context.Context, *sql.Tx) error { return nil }), said)

	deferred := sqltest.OpenSQLite(t, path, url.Values{"_txlock": {"deferred"}, "_pragma": pragmas})
	tx, err := deferred.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	require.ErrorContains(t, ob.Enqueue(t.Context(), tx, message("", "lost")), said)
	require.ErrorIs(t, tx.Commit(), sql.ErrTxDone)

	require.NoError(t, other.Rollback())
	commit(t, ob, message("", "a"))
	require.Equal(t, []string{"a"}, drain(t, acquire(t, ob, sqloutbox.SourceConfig{})))
}
