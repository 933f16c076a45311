package pgdedupe

import (
	"context"
	"embed"
	"io/fs"

	"github.com/leat-go/leat/internal/sqlfile"
)

//go:embed http
var httpFolder embed.FS

// httpFiles are the migrations and the statements of a TxStore.
func httpFiles() fs.FS {
	files, err := fs.Sub(httpFolder, "http")
	if err != nil {
		panic(err) // "http" is a valid name
	}
	return files
}

// Migrate creates or upgrades the schema. It is safe to call from many processes
// at once and does nothing if everything is in place.
func (s *TxStore) Migrate(ctx context.Context) error {
	return s.cfg.txTable().migrate(ctx, s.pool)
}

// TxMigrations returns the schema of a TxStore for cfg as files that goose and tern run as they
// are. Only Schema and Table of cfg matter.
func TxMigrations(cfg Config) (fs.FS, error) {
	cfg = cfg.forTx()
	if err := cfg.txTable().validate(); err != nil {
		return nil, err
	}
	return cfg.txTable().export()
}

// txStatements are the rendered SQL of a TxStore.
type txStatements struct {
	lock, look, put, prune string
}

func renderTx(cfg Config) (txStatements, error) {
	var s txStatements
	err := sqlfile.Load(httpFiles(), cfg.txTable().names().Render, map[string]*string{"lock": &s.lock, "look": &s.look, "put": &s.put, "prune": &s.prune})
	return s, err
}
