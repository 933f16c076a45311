package bench_test

import (
	"context"
	"database/sql"
	"maps"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// side is a database with leat's pool and, on servers, one for watermill-sql.
type side struct {
	meter

	aims      *aims
	dialect   outbox.Dialect
	db        *sql.DB
	watermill *sql.DB
}

// BenchmarkStores measures everything on servers with default settings: on disk, with each commit synced,
// MySQL with its binary log and MariaDB without.
func BenchmarkStores(b *testing.B) {
	table := &aims{}
	defer table.print()
	b.Run("mysql", func(b *testing.B) { server(b, table, outbox.MySQL, testenv.PrivateMySQL) })
	b.Run("mariadb", func(b *testing.B) { server(b, table, outbox.MariaDB, testenv.PrivateMariaDB) })
	b.Run("sqlite", func(b *testing.B) {
		open := func(b *testing.B) side {
			b.Helper()
			return side{aims: table, dialect: outbox.SQLite, db: pool(sqltest.SQLite(b))}
		}
		everywhere(b, open)
	})
}

func server(
	b *testing.B, table *aims, name outbox.Dialect, start func(testing.TB, map[string]string) *testenv.PrivateMySQLServer,
) {
	b.Helper()
	settings := map[string]string{"innodb-buffer-pool-size": "256M"}
	url := start(b, settings).URL
	open := func(b *testing.B) side {
		b.Helper()
		config := sqltest.NewMySQLDatabase(b, url)
		db := pool(sqltest.OpenMySQL(b, config, nil))
		return side{newMeter(b, db), table, name, db, pool(sqltest.OpenMySQL(b, prepared(config), nil))}
	}
	b.Run("drain", func(b *testing.B) { drains(b, open(b)) })
	b.Run("kafka", func(b *testing.B) { toKafka(b, open(b)) })
	b.Run("snapshot", func(b *testing.B) { besideSnapshot(b, open(b)) })
	everywhere(b, open)
}

func everywhere(b *testing.B, open func(b *testing.B) side) {
	b.Helper()
	b.Run("enqueue", func(b *testing.B) { enqueues(b, open(b)) })
	b.Run("lane", func(b *testing.B) { inboxes(b, open(b), 1, 0) })
	b.Run("lanes", func(b *testing.B) { inboxes(b, open(b), 8, 0.85) })
}

// pool keeps one idle connection per writer: by default, connections beyond two would be opened anew for
// each transaction.
func pool(db *sql.DB) *sql.DB {
	db.SetMaxIdleConns(2 * writers)
	return db
}

// prepared returns a config for watermill-sql, which cannot store JSON with interpolateParams.
func prepared(config *mysql.Config) *mysql.Config {
	config = config.Clone()
	config.Params = maps.Clone(config.Params)
	config.InterpolateParams = false
	return config
}

func exec(b *testing.B, db *sql.DB, statement string) {
	b.Helper()
	_, err := db.ExecContext(b.Context(), statement)
	require.NoError(b, err, statement)
}

func number(ctx context.Context, db *sql.DB, query string) (n int64, err error) {
	return n, db.QueryRowContext(ctx, query).Scan(&n)
}
