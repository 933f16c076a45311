package sqloutbox_test

import (
	"context"
	"database/sql"
	"flag"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// TestMain allows more parallel tests than there are processors, since the tests mostly wait.
//
//leat:level 1
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("8"); err != nil {
			panic(err)
		}
	}
	testenv.Main(m)
}

const lease = time.Minute

// onServers runs a test on MySQL and on MariaDB, each in a database of its own.
func onServers(t *testing.T, test func(t *testing.T, config *mysql.Config, dialect outbox.Dialect)) {
	t.Helper()
	for dialect, server := range map[outbox.Dialect]func(tb testing.TB) testenv.MySQLServer{
		outbox.MySQL: testenv.MySQL, outbox.MariaDB: testenv.MariaDB,
	} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			test(t, sqltest.NewMySQLDatabase(t, server(t).URL), dialect)
		})
	}
}

// onAll runs a test on MySQL, MariaDB and SQLite, each in a database of its own.
func onAll(t *testing.T, test func(t *testing.T, db *sql.DB, dialect outbox.Dialect)) {
	t.Helper()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		test(t, sqltest.OpenMySQL(t, config, nil), dialect)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, sqltest.SQLite(t), outbox.SQLite)
	})
}

func newOutbox(t *testing.T, db *sql.DB, dialect outbox.Dialect) *sqloutbox.Outbox {
	t.Helper()
	return newSubject(t, db, dialect).Outbox
}

func message(key, name string) outbox.Message {
	return outbox.Message{Topic: "t", Key: key, Payload: []byte(name)}
}

// open enqueues in a transaction that stays open.
func open(t *testing.T, db *sql.DB, ob *sqloutbox.Outbox, msgs ...outbox.Message) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(context.WithoutCancel(t.Context()), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	require.NoError(t, ob.Enqueue(t.Context(), tx, msgs...))
	return tx
}

func commit(t *testing.T, ob *sqloutbox.Outbox, msgs ...outbox.Message) {
	t.Helper()
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return ob.Enqueue(ctx, tx, msgs...)
	}))
}

func acquire(t *testing.T, ob *sqloutbox.Outbox, cfg sqloutbox.SourceConfig) driver.Session {
	t.Helper()
	src, err := ob.Source(cfg)
	require.NoError(t, err)
	s, err := src.Acquire(t.Context(), lease)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Release(context.WithoutCancel(t.Context())) })
	return s
}

// drain reads and settles until nothing is left, and returns the payloads.
func drain(t *testing.T, s driver.Session) []string {
	t.Helper()
	var all []string
	for {
		p, err := s.Read(t.Context(), 100)
		require.NoError(t, err)
		if len(p.Records) == 0 {
			return all
		}
		all = append(all, payloads(p)...)
		require.NoError(t, s.Advance(t.Context(), p, len(p.Records)))
	}
}

func payloads(p driver.Page) (all []string) {
	for i := range p.Records {
		all = append(all, string(p.Records[i].Payload))
	}
	return all
}
