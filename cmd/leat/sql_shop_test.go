package main_test

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	outboxdriver "github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// sqlShop is a shop on MySQL, MariaDB or SQLite.
type sqlShop struct {
	dialect outbox.Dialect
	product string
	url     string
	db      *sql.DB
	ob      *sqloutbox.Outbox
}

// onSQL runs test on each of the databases, with tables that leat has made.
func onSQL(t *testing.T, test func(t *testing.T, s *sqlShop)) {
	t.Helper()
	for _, s := range []*sqlShop{{dialect: outbox.MySQL, product: "MySQL"}, {dialect: outbox.MariaDB, product: "MariaDB"}, {dialect: outbox.SQLite, product: "SQLite"}} {
		t.Run(string(s.dialect), func(t *testing.T) {
			t.Parallel()
			s.open(t)
			test(t, s)
		})
	}
}

func (s *sqlShop) open(t *testing.T) {
	t.Helper()
	driver := "mysql"
	var dsn string
	if s.dialect == outbox.SQLite {
		path := filepath.Join(t.TempDir(), "shop 1.db")
		driver, s.url, dsn = "sqlite", "sqlite:"+path, "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=synchronous(FULL)"
	} else {
		server := testenv.MySQL
		if s.dialect == outbox.MariaDB {
			server = testenv.MariaDB
		}
		s.url, dsn = newSQLDatabase(t, s.dialect, server(t).URL)
	}
	r := newSession(t, s.url).leat("migrate", "up", "--yes")
	require.Zero(t, r.code, r.err)
	var err error
	s.db, err = sql.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { s.db.Close() })
	s.ob, err = sqloutbox.New(s.db, s.dialect, sqloutbox.Config{})
	require.NoError(t, err)
}

// newSQLDatabase makes a database on a server, and returns its URL for leat and for the
// driver.
func newSQLDatabase(t *testing.T, dialect outbox.Dialect, server string) (address, dsn string) {
	t.Helper()
	u, err := url.Parse(server)
	require.NoError(t, err)
	at := u.User.String() + "@tcp(" + u.Host + ")/"
	name := testenv.NewDatabaseName(t.Name())
	run := func(statement string) {
		db, err := sql.Open("mysql", at)
		require.NoError(t, err)
		defer db.Close()
		_, err = db.ExecContext(context.WithoutCancel(t.Context()), statement)
		require.NoError(t, err, statement)
	}
	run("CREATE DATABASE `" + name + "`")
	t.Cleanup(func() { run("DROP DATABASE `" + name + "`") })
	u.Scheme, u.Path = string(dialect), "/"+name
	return u.String(), at + name + "?interpolateParams=true"
}

func (s *sqlShop) enqueue(t *testing.T, messages ...outbox.Message) {
	t.Helper()
	require.NoError(t, s.ob.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return s.ob.Enqueue(ctx, tx, messages...)
	}))
}

func (s *sqlShop) source(t *testing.T, group string) outboxdriver.Source {
	t.Helper()
	source, err := s.ob.Source(sqloutbox.SourceConfig{Group: group, Start: outboxdriver.Start{Oldest: true}})
	require.NoError(t, err)
	return source
}

func (s *sqlShop) inbox(t *testing.T, consumer string, cfg inbox.Config) consumer {
	t.Helper()
	in, err := sqlinbox.New(s.db, s.dialect, consumer, sqlinbox.Config{Config: cfg})
	require.NoError(t, err)
	return in
}

// alike are what is called otherwise in each database.
func (s *sqlShop) alike(text string) string {
	return strings.ReplaceAll(text, s.product, "<product>")
}
