package sqlinbox

import (
	"database/sql"
	"embed"
	"io/fs"

	"github.com/leat-go/leat/internal/fullpool"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
)

//go:embed sql/*.sql migrations/*/*.sql
var files embed.FS

// tables are the tables of an inbox in a database, with the statements on them by name.
type tables struct {
	*sqlstore.Store

	checked checked
	full    *fullpool.Pool
}

func newTables(db *sql.DB, dialect outbox.Dialect, cfg Config) (*tables, error) {
	if db == nil {
		return nil, outbox.ConfigError("db", nil, "must not be nil")
	}
	return renderTables(db, dialect, cfg)
}

// renderTables renders the statements. It does not access the database.
func renderTables(db *sql.DB, dialect outbox.Dialect, cfg Config) (*tables, error) {
	d, err := sqldialect.Of(dialect)
	if err != nil {
		return nil, outbox.ConfigError("dialect", string(dialect), err.Error())
	}
	if err := cfg.validate(d); err != nil {
		return nil, err
	}
	store, err := sqlstore.New(db, d, cfg.Table, sqlstore.Component{
		Name: "inbox", Statements: []fs.FS{files}, Migrations: files, NotMigrated: outbox.ErrNotMigrated,
	})
	return &tables{Store: store, checked: checked{turn: make(chan struct{}, 1)}, full: fullpool.OfSQL(db, cfg.Logger)}, err
}
