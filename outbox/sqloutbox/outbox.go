package sqloutbox

import (
	"database/sql"
	"embed"
	"io/fs"
	"sync/atomic"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

// Outbox is one outbox in one database. It is safe for concurrent use; make one and keep
// it. It owns no goroutines and needs no Close.
type Outbox struct {
	log      *sqllog.Log
	cfg      Config
	preparer outbox.Preparer
	bell     bell
	told     atomic.Bool // it was logged that it is unknown whether the server is a replica
}

var _ outbox.Enqueuer = (*Outbox)(nil)

// New returns the outbox that lives in the database of db. It returns an error that wraps
// outbox.ErrInvalidConfig if db is nil, the dialect is unknown, or cfg is invalid. It connects to
// nothing: call Migrate once, for example at start-up.
//
// On MySQL and MariaDB, interpolateParams=true in the driver's DSN saves a round trip per
// statement. On SQLite, transactions must lock as they begin (_txlock=immediate) and wait for one
// another (busy_timeout): a transaction that reads first and writes later fails at once if
// another one has written in between. Source.Check refuses a database with another configuration.
func New(db *sql.DB, dialect outbox.Dialect, cfg Config) (*Outbox, error) {
	if db == nil {
		return nil, outbox.ConfigError("db", nil, "must not be nil")
	}
	d, err := sqldialect.Of(dialect)
	if err != nil {
		return nil, outbox.ConfigError("dialect", string(dialect), err.Error())
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	store, err := cfg.store(db, d)
	if err != nil {
		return nil, err
	}
	return &Outbox{
		log: sqllog.New(store, cfg.Logger), cfg: cfg,
		preparer: outbox.Preparer{MaxPayloadBytes: cfg.MaxPayloadBytes, Injector: cfg.Injector},
	}, nil
}

//go:embed sql/*.sql migrations/*/*.sql
var files embed.FS

// store is the location of the tables in a database.
func (c Config) store(db *sql.DB, d sqldialect.Dialect) (*sqlstore.Store, error) {
	return sqlstore.New(db, d, c.Table, sqlstore.Component{
		Name: "outbox", Statements: []fs.FS{files, sqllog.Statements()}, Migrations: files, NotMigrated: outbox.ErrNotMigrated,
	})
}
