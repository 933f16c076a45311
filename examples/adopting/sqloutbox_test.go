package adopting_test

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/mysqldialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"
	gormmysql "gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	_ "modernc.org/sqlite"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// service places orders on MySQL, MariaDB or SQLite.
type service struct {
	db *sql.DB
	ob *sqloutbox.Outbox
}

func (s service) enqueue(ctx context.Context, tx *sql.Tx, id string) error {
	return s.ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: id, Payload: []byte("{}")})
}

// onGorm returns what places an order with gorm.
func (s service) onGorm(config gorm.Config) func(ctx context.Context, id string) error {
	return func(ctx context.Context, id string) error {
		config.Logger = logger.Discard
		db, err := gorm.Open(gormmysql.New(gormmysql.Config{Conn: s.db}), &config)
		if err != nil {
			return err
		}
		return db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			if err := tx.Table("orders").Create(map[string]any{"id": id}).Error; err != nil {
				return err
			}
			pool := tx.Statement.ConnPool
			if prepared, ok := pool.(*gorm.PreparedStmtTX); ok {
				pool = prepared.Tx
			}
			sqlTx, ok := pool.(*sql.Tx)
			if !ok {
				return outbox.ErrNotInTransaction
			}
			return s.enqueue(ctx, sqlTx, id)
		})
	}
}

func (s service) withSQLX(ctx context.Context, id string) error {
	tx, err := sqlx.NewDb(s.db, "mysql").BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?)", id); err != nil {
		return err
	}
	if err := s.enqueue(ctx, tx.Tx, id); err != nil {
		return err
	}
	return tx.Commit()
}

// onBun returns what places an order with bun.
func (s service) onBun(d schema.Dialect) func(ctx context.Context, id string) error {
	return func(ctx context.Context, id string) error {
		return bun.NewDB(s.db, d).RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			if _, err := tx.NewRaw("INSERT INTO orders VALUES (?)", id).Exec(ctx); err != nil {
				return err
			}
			return s.enqueue(ctx, tx.Tx, id)
		})
	}
}

// onEnt returns what places an order with ent.
func (s service) onEnt(name string) func(ctx context.Context, id string) error {
	return func(ctx context.Context, id string) error {
		return s.ob.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			driver := entsql.NewDriver(name, entsql.Conn{ExecQuerier: tx})
			query, args := entsql.Dialect(name).Insert("orders").Columns("id").Values(id).Query()
			if err := driver.Exec(ctx, query, args, nil); err != nil {
				return err
			}
			return s.enqueue(ctx, tx, id)
		})
	}
}

// A6: the same on MySQL, MariaDB and SQLite, with the pool and the transaction of each library.
func TestA6_LibrariesOnOtherDatabases(t *testing.T) {
	t.Parallel()
	for name, open := range map[outbox.Dialect]func(t *testing.T) *sql.DB{
		outbox.MySQL:   func(t *testing.T) *sql.DB { t.Helper(); return onServer(t, testenv.MySQL(t).URL) },
		outbox.MariaDB: func(t *testing.T) *sql.DB { t.Helper(); return onServer(t, testenv.MariaDB(t).URL) },
		outbox.SQLite: func(t *testing.T) *sql.DB {
			t.Helper()
			db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "app.db")+
				"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			return db
		},
	} {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			db := open(t)
			ob, err := sqloutbox.New(db, name, sqloutbox.Config{})
			require.NoError(t, err)
			require.NoError(t, ob.Migrate(t.Context()))
			_, err = db.ExecContext(t.Context(), "CREATE TABLE orders (id VARCHAR(40) PRIMARY KEY)")
			require.NoError(t, err)
			missing, err := sqloutbox.New(db, name, sqloutbox.Config{Table: "not_migrated"})
			require.NoError(t, err)

			libraries := placements(service{db, ob}, name)
			broken := placements(service{db, missing}, name)
			for library, place := range libraries {
				require.NoError(t, place(t.Context(), library), library)
				require.Error(t, place(t.Context(), library), "%s: the order is there already", library)
				require.ErrorIs(t, broken[library](t.Context(), library+", not enqueued"), outbox.ErrNotMigrated, library)
			}
			for table, want := range map[string]int{"orders": len(libraries), "leat_outbox WHERE seq > 0": len(libraries)} {
				var n int
				require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n))
				require.Equal(t, want, n, table)
			}
		})
	}
}

// placements are the libraries, except gorm on SQLite, whose driver is in C.
func placements(s service, name outbox.Dialect) map[string]func(ctx context.Context, id string) error {
	if name == outbox.SQLite {
		return map[string]func(ctx context.Context, id string) error{
			"sqlx": s.withSQLX, "bun": s.onBun(sqlitedialect.New()), "ent": s.onEnt(dialect.SQLite),
		}
	}
	return map[string]func(ctx context.Context, id string) error{
		"gorm": s.onGorm(gorm.Config{}), "gorm, prepared": s.onGorm(gorm.Config{PrepareStmt: true}),
		"sqlx": s.withSQLX, "bun": s.onBun(mysqldialect.New()), "ent": s.onEnt(dialect.MySQL),
	}
}

// onServer opens a database of the test's own.
func onServer(t *testing.T, address string) *sql.DB {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	config := mysql.NewConfig()
	config.Net, config.Addr, config.User = "tcp", u.Host, u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.ParseTime = true // gorm's own recommendation
	open := func() *sql.DB {
		connector, err := mysql.NewConnector(config)
		require.NoError(t, err)
		db := sql.OpenDB(connector)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db
	}
	server, name := open(), testenv.NewDatabaseName(t.Name())
	_, err = server.ExecContext(t.Context(), "CREATE DATABASE `"+name+"`")
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := server.ExecContext(context.WithoutCancel(t.Context()), "DROP DATABASE `"+name+"`")
		require.NoError(t, err)
	})
	config.DBName = name
	return open()
}
