package testenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/wait"
)

// Names of the objects that we create on a PostgreSQL server. Nothing else is ever dropped.
const (
	databasePrefix = "leat_test_"
	templatePrefix = databasePrefix + "tpl_"
)

// templateKeep is how long a template is kept for other runs on a server that outlives the run.
const templateKeep = 24 * time.Hour

// Template is a migrated database from which the databases of tests are cloned. On each server, the first
// process that needs it creates it, and all others share it.
type Template struct {
	// Name identifies the contents of the template, such as "pgoutbox". Required.
	Name string
	// Version changes whenever the effect of Apply changes: a hash or a number of the migrations.
	// Defaults to "".
	Version string
	// Apply migrates the empty database at url and leaves no connection open.
	// Required.
	Apply func(ctx context.Context, url string) error
}

// templateName returns the name of the database that contains all the templates.
func templateName(templates []Template) string {
	h := sha256.New()
	names := make([]string, len(templates))
	for i, t := range templates {
		fmt.Fprintf(h, "%d:%s%d:%s", len(t.Name), t.Name, len(t.Version), t.Version)
		names[i] = strings.Map(nameRune, strings.ToLower(t.Name))
	}
	name := templatePrefix + strings.Join(names, "_")

	return name[:min(len(name), 50)] + "_" + hex.EncodeToString(h.Sum(nil))[:10]
}

func nameRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
		return r
	}

	return '_'
}

// ensureTemplate creates the template unless it exists. Processes that share a server take turns under an
// advisory lock. The last step marks the database as a template, and only then does the template count as
// complete.
func ensureTemplate(ctx context.Context, conn *pgx.Conn, address string, templates []Template) (err error) {
	name := templateName(templates)
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtextextended($1, 0))`, name); err != nil {
		return fmt.Errorf("testenv: lock template %s: %w", name, err)
	}
	defer func() {
		_, unlockErr := conn.Exec(ctx, `SELECT pg_advisory_unlock(hashtextextended($1, 0))`, name)
		err = errors.Join(err, unlockErr)
	}()

	var ready bool
	err = conn.QueryRow(ctx, `SELECT datistemplate FROM pg_database WHERE datname = $1`, name).Scan(&ready)
	switch {
	case ready:
		return nil
	case err == nil: // a process died before the template was complete
		if err := dropDatabase(ctx, conn, name); err != nil {
			return err
		}
	case !errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("testenv: look for template %s: %w", name, err)
	}

	return makeTemplate(ctx, conn, address, name, templates)
}

func makeTemplate(ctx context.Context, conn *pgx.Conn, address, name string, templates []Template) error {
	quoted := pgx.Identifier{name}.Sanitize()
	if _, err := conn.Exec(ctx, `CREATE DATABASE `+quoted); err != nil {
		return fmt.Errorf("testenv: create template %s: %w", name, err)
	}
	url, err := withDatabase(address, name)
	if err != nil {
		return err
	}
	for _, t := range templates {
		if err := t.Apply(ctx, url); err != nil {
			return errors.Join(fmt.Errorf("testenv: apply template %s: %w", t.Name, err), dropDatabase(ctx, conn, name))
		}
	}
	_, err = conn.Exec(ctx, fmt.Sprintf(`COMMENT ON DATABASE %s IS '%d'`, quoted, time.Now().Unix()))
	if err == nil {
		_, err = conn.Exec(ctx, `ALTER DATABASE `+quoted+` WITH ALLOW_CONNECTIONS false IS_TEMPLATE true`)
	}
	if err != nil {
		return fmt.Errorf("testenv: mark template %s: %w", name, err)
	}

	return nil
}

// copyStrategy selects copying of files if the server would otherwise write each page to its log. That
// takes five times as long on a server that does not wait for its disk.
func copyStrategy(conn *pgx.Conn) string {
	major, _, _ := strings.Cut(conn.PgConn().ParameterStatus("server_version"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < 15 {
		return ""
	}
	return ` STRATEGY file_copy`
}

// cloneTemplate creates a database from the template, or an empty one without templates.
func cloneTemplate(ctx context.Context, conn *pgx.Conn, address, name string, templates []Template) error {
	statement := `CREATE DATABASE ` + pgx.Identifier{name}.Sanitize() + copyStrategy(conn)
	if len(templates) > 0 {
		statement += ` TEMPLATE ` + pgx.Identifier{templateName(templates)}.Sanitize()
		if err := ensureTemplate(ctx, conn, address, templates); err != nil {
			return err
		}
	}

	return retryClone(ctx, func() error {
		_, err := conn.Exec(ctx, statement)
		if pgerr.Is(err, pgerr.InvalidCatalogName) { // another run has removed it as a leftover
			return errors.Join(err, ensureTemplate(ctx, conn, address, templates))
		}

		return err
	})
}

// retryClone repeats a clone that failed because of another connection to the template, such as that of an
// autovacuum worker.
func retryClone(ctx context.Context, clone func() error) error {
	const attempts = 20

	var err error
	for range attempts {
		err = clone()
		if !pgerr.Is(err, pgerr.ObjectInUse, pgerr.InvalidCatalogName) {
			break
		}
		if err := wait.For(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	if err != nil {
		return fmt.Errorf("testenv: clone: %w", err)
	}

	return nil
}

// VersionOf returns a Version for a Template that changes with files, such as migrations. Its arguments
// are the results of the function that returns the files. An error becomes part of the version, since
// Apply will meet it again.
func VersionOf(files fs.FS, err error) string {
	if err != nil {
		return err.Error()
	}
	sum := sha256.New()
	err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(files, path)
		_, _ = sum.Write(raw) // it never fails
		return err
	})
	if err != nil {
		return err.Error()
	}
	return hex.EncodeToString(sum.Sum(nil))
}
