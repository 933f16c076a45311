package sqltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"maps"
	"net/url"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// cleanupTimeout bounds the cleanup after a test.
const cleanupTimeout = time.Minute

// MySQL opens a new database on the shared MySQL server. It is dropped at the end of the test.
func MySQL(tb testing.TB) *sql.DB {
	tb.Helper()
	return OpenMySQL(tb, NewMySQLDatabase(tb, testenv.MySQL(tb).URL), nil)
}

// MariaDB opens a new database on the shared MariaDB server. It is dropped at the end of the test.
func MariaDB(tb testing.TB) *sql.DB {
	tb.Helper()
	return OpenMySQL(tb, NewMySQLDatabase(tb, testenv.MariaDB(tb).URL), nil)
}

// NewMySQLDatabase creates a database on the server at address, a URL as in testenv. It returns how to
// connect to it, for any number of pools. The database is dropped at the end of the test, after the pools
// that were opened since.
func NewMySQLDatabase(tb testing.TB, address string) *mysql.Config {
	tb.Helper()
	u, err := url.Parse(address)
	require.NoError(tb, err)
	config := mysql.NewConfig()
	config.Net, config.Addr, config.User = "tcp", u.Host, u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.InterpolateParams = true // so that a statement takes one round trip
	config.Logger = &mysql.NopLogger{}
	name := testenv.NewDatabaseName(tb.Name())
	onServer(tb, config, "CREATE DATABASE `"+name+"`")
	tb.Cleanup(func() { onServer(tb, config, "DROP DATABASE `"+name+"`") })
	own := config.Clone()
	own.DBName = name
	return own
}

// onServer runs a statement outside of any database.
func onServer(tb testing.TB, config *mysql.Config, statement string) {
	tb.Helper()
	connector, err := mysql.NewConnector(config)
	require.NoError(tb, err)
	db := sql.OpenDB(connector)
	defer func() { require.NoError(tb, db.Close()) }()
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	_, err = db.ExecContext(ctx, statement)
	require.NoError(tb, err, statement)
}

// OpenMySQL opens a pool on a database. It is closed at the end of the test. Each of its sessions gets the
// system variables in with, such as {"transaction_isolation": "'SERIALIZABLE'"}.
func OpenMySQL(tb testing.TB, config *mysql.Config, with map[string]string) *sql.DB {
	tb.Helper()
	connector := &recorded{Connector: MySQLConnector(tb, config, with)}
	db := sql.OpenDB(connector)
	tb.Cleanup(func() {
		_ = db.Close()
		connector.close()
	})
	return db
}

// MySQLConnector is OpenMySQL for callers that wrap connections.
func MySQLConnector(tb testing.TB, config *mysql.Config, with map[string]string) driver.Connector {
	tb.Helper()
	config = config.Clone()
	config.Params = maps.Clone(with)
	connector, err := mysql.NewConnector(config)
	require.NoError(tb, err)
	return connector
}
