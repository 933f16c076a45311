package sqltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"maps"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite" // also registers the driver "sqlite"
)

// SQLite opens a new SQLite database, which is removed at the end of the test. It has the settings that
// leat requires: a write-ahead log, transactions that lock when they begin, and a writer's wait for
// another writer. The wait is six times as long as required: SQLite gives the file to the writer that
// happens to ask at the right moment, and many parallel tests ask late.
func SQLite(tb testing.TB) *sql.DB {
	tb.Helper()
	return OpenSQLite(tb, filepath.Join(tb.TempDir(), "leat.db"), nil)
}

// OpenSQLite opens the database in the file path. Values in with replace SQLite's values of the same name,
// such as _txlock. A name without values is removed.
func OpenSQLite(tb testing.TB, path string, with url.Values) *sql.DB {
	tb.Helper()
	db, err := sql.Open("sqlite", sqliteDSN(path, with))
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

func sqliteDSN(path string, with url.Values) string {
	query := url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(60000)", "journal_mode(WAL)", "synchronous(FULL)"},
	}
	maps.Copy(query, with)
	// These characters would end the path in an address, and names of tests contain some of them.
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	return "file:" + escaped + "?" + query.Encode()
}

// SQLiteConnector is OpenSQLite for callers that wrap connections.
func SQLiteConnector(path string, with url.Values) driver.Connector {
	return sqliteConnector{&sqlite.Driver{}, sqliteDSN(path, with)}
}

type sqliteConnector struct {
	driver *sqlite.Driver
	dsn    string
}

// Connect implements driver.Connector.
func (c sqliteConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }

// Driver implements driver.Connector.
func (c sqliteConnector) Driver() driver.Driver { return c.driver }
