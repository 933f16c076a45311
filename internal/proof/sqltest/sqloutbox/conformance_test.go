package sqloutbox_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

func features() outboxtest.Features {
	return outboxtest.Features{
		NoSlots: true, FixedSlots: true, NoPositions: true,
	}
}

func liteFeatures() outboxtest.Features {
	f := features()
	f.OneWriter = true
	return f
}

func TestConformance_MySQL(t *testing.T) {
	t.Parallel()
	outboxtest.Run(t, features(), newMySQL)
}

//leat:level 2
func TestConformance_MySQLRelay(t *testing.T) {
	t.Parallel()
	outboxtest.RunRelay(t, features(), newMySQL)
}

func TestConformance_MariaDB(t *testing.T) {
	t.Parallel()
	outboxtest.Run(t, features(), newMariaDB)
}

func TestConformance_MariaDBRelay(t *testing.T) {
	t.Parallel()
	outboxtest.RunRelay(t, features(), newMariaDB)
}

// The servers' default level is REPEATABLE READ. These tests run producers and the pool at other levels.
//
//leat:level 2
func TestConformance_MariaDBSerializable(t *testing.T) {
	t.Parallel()
	outboxtest.Run(t, features(), func(t *testing.T) outboxtest.Subject {
		t.Helper()
		config := sqltest.NewMySQLDatabase(t, testenv.MariaDB(t).URL)
		return newSubject(t, sqltest.OpenMySQL(t, config, map[string]string{"tx_isolation": "'SERIALIZABLE'"}), outbox.MariaDB)
	})
}

//leat:level 2
func TestConformance_MySQLReadCommitted(t *testing.T) {
	t.Parallel()
	outboxtest.Run(t, features(), func(t *testing.T) outboxtest.Subject {
		t.Helper()
		config := sqltest.NewMySQLDatabase(t, testenv.MySQL(t).URL)
		return newSubject(t, sqltest.OpenMySQL(t, config, map[string]string{"transaction_isolation": "'READ-COMMITTED'"}), outbox.MySQL)
	})
}

// TestR14_ReadsOutsideOfTransactions: in everything that the suite does, a statement that a splitter may
// send elsewhere proves which server has answered it.
//
//leat:level 2
func TestR14_ReadsOutsideOfTransactions(t *testing.T) {
	t.Parallel()
	for dialect, server := range map[outbox.Dialect]func(testing.TB) testenv.MySQLServer{
		outbox.MySQL: testenv.MySQL, outbox.MariaDB: testenv.MariaDB,
	} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			outboxtest.Run(t, features(), func(t *testing.T) outboxtest.Subject {
				t.Helper()
				config := sqltest.Watched(t, sqltest.NewMySQLDatabase(t, server(t).URL))
				return newSubject(t, sqltest.OpenMySQL(t, config, nil), dialect)
			})
		})
	}
}

func newMySQL(t *testing.T) outboxtest.Subject {
	t.Helper()
	return newSubject(t, sqltest.MySQL(t), outbox.MySQL)
}

func newMariaDB(t *testing.T) outboxtest.Subject {
	t.Helper()
	return newSubject(t, sqltest.MariaDB(t), outbox.MariaDB)
}

func TestConformance_SQLite(t *testing.T) {
	t.Parallel()
	outboxtest.Run(t, liteFeatures(), newLite)
}

func TestConformance_SQLiteRelay(t *testing.T) {
	t.Parallel()
	outboxtest.RunRelay(t, liteFeatures(), newLite)
}

func newLite(t *testing.T) outboxtest.Subject {
	t.Helper()
	return newSubject(t, sqltest.SQLite(t), outbox.SQLite)
}

// subject is an outbox in a database of its own.
type subject struct {
	*sqloutbox.Outbox
	operators

	db      *sql.DB
	dialect outbox.Dialect
}

// operators is the part of an outbox that operators use.
type operators interface {
	admin.Manager
}

func newSubject(t *testing.T, db *sql.DB, dialect outbox.Dialect) subject {
	t.Helper()
	ob, err := sqloutbox.New(db, dialect, sqloutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(t.Context()))
	return subject{ob, ob.Admin(), db, dialect}
}

// Source implements outboxtest.Subject.
func (s subject) Source(group string) driver.Source {
	src, err := s.Group(outboxtest.GroupConfig{Name: group})
	if err != nil {
		panic(err) // the suite's groups are valid
	}
	return src
}

// Group implements outboxtest.Grouper.
func (s subject) Group(cfg outboxtest.GroupConfig) (driver.Source, error) {
	start := cfg.Start
	if !start.IsStated() {
		start.Oldest = true
	}
	return s.Outbox.Source(sqloutbox.SourceConfig{Group: cfg.Name, Start: start, Topics: cfg.Topics})
}

// Begin implements outboxtest.Subject.
func (s subject) Begin(ctx context.Context) (outboxtest.Tx, error) {
	tx, err := s.db.BeginTx(context.WithoutCancel(ctx), nil)
	return &testTx{tx, s.Outbox}, err
}

type testTx struct {
	tx *sql.Tx
	ob *sqloutbox.Outbox
}

func (x *testTx) Enqueue(ctx context.Context, msgs ...outbox.Message) error {
	return x.ob.Enqueue(ctx, x.tx, msgs...)
}

func (x *testTx) Context(ctx context.Context) context.Context {
	return sqloutbox.ContextWithTx(ctx, x.tx)
}

func (x *testTx) Commit(context.Context) error { return x.tx.Commit() }

func (x *testTx) Rollback(context.Context) error { return x.tx.Rollback() }
