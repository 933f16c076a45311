package sqloutbox_test

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/outbox"
)

// TestWaits_NameTheHolder: a transaction that was left open elsewhere makes the next writer of the key
// wait. The writer's error names the transaction that may hold the key; on SQLite it names the locked
// file.
func TestWaits_NameTheHolder(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		db := sqltest.OpenMySQL(t, config, map[string]string{"innodb_lock_wait_timeout": "1"})
		ob := newOutbox(t, db, dialect)
		open(t, db, ob, message("k", "forgotten"))
		says := regexp.MustCompile(`^leat: waited for a lock; the oldest transaction that has locked rows is that of connection \d+, since \d+`)
		for named := false; !named; { // the look is bounded, and a busy server may be too late for one
			err := ob.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return ob.Enqueue(ctx, tx, message("k", "next")) })
			require.ErrorContains(t, err, "1205")
			named = says.MatchString(err.Error())
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "shop.db")
		db := sqltest.OpenSQLite(t, path, url.Values{"_pragma": {"busy_timeout(1)", "journal_mode(WAL)", "synchronous(FULL)"}})
		ob := newOutbox(t, db, outbox.SQLite)
		forgotten, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		err = ob.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return ob.Enqueue(ctx, tx, message("k", "next")) })
		require.ErrorContains(t, err, "shop.db is locked: leat: another transaction has kept the database file")
		require.NoError(t, forgotten.Rollback())
	})
}
