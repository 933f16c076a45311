package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	embedded "github.com/fergusstrange/embedded-postgres"
)

// newestPostgres is fetched when any version will do.
const newestPostgres = "18"

// postgresRelease is the minor version that is fetched for a major one.
func postgresRelease(major string) (embedded.PostgresVersion, error) {
	switch major {
	case "14":
		return "14.19.0", nil
	case "15":
		return "15.14.0", nil
	case "16":
		return "16.10.0", nil
	case "17":
		return "17.6.0", nil
	case newestPostgres:
		return "18.1.0", nil
	default:
		return "", fmt.Errorf("testenv: %s=%q is not 14 to 18", EnvPostgresVersion, major)
	}
}

// fetchPostgres returns the binaries of a major version, fetched once from Maven
// Central and kept in the cache.
func fetchPostgres(ctx context.Context, major string) (postgresBinaries, error) {
	release, err := postgresRelease(major)
	if err != nil {
		return postgresBinaries{}, err
	}
	cache, err := cacheDir()
	if err != nil {
		return postgresBinaries{}, err
	}
	home := filepath.Join(cache, "postgres-"+string(release))
	err = once(ctx, home, func(dir string) error { return extractPostgres(release, dir) })
	if err != nil {
		return postgresBinaries{}, fmt.Errorf("%w: PostgreSQL %s: %w", ErrUnavailable, release, err)
	}

	return postgresBinaries{
		dir:    filepath.Join(home, "bin"),
		origin: "embedded-postgres " + string(release),
	}, nil
}

// extractPostgres has embedded-postgres fetch and unpack its binaries into dir.
// There is no call for that alone, so it is handed a data directory that looks
// initialised and is not: it unpacks, tries to start and fails. Starting is ours,
// since it cannot drop root's privileges.
func extractPostgres(release embedded.PostgresVersion, dir string) (err error) {
	scratch, err := os.MkdirTemp("", "leat-fetch-")
	if err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()

	data := filepath.Join(scratch, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	marker := filepath.Join(data, "PG_VERSION")
	if err := os.WriteFile(marker, []byte(majorOf(string(release))+"\n"), 0o600); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	started := embedded.NewDatabase(embedded.DefaultConfig().
		Version(release).
		Port(uint32(port)).
		CachePath(scratch).
		RuntimePath(filepath.Join(scratch, "run")).
		BinariesPath(dir).
		DataPath(data).
		Logger(io.Discard)).Start()
	if started == nil || !strings.Contains(started.Error(), "could not start postgres") {
		return fmt.Errorf("testenv: unpack PostgreSQL %s: %w", release, started)
	}
	if _, err := os.Stat(filepath.Join(dir, "bin", "initdb")); err != nil {
		return fmt.Errorf("testenv: unpack PostgreSQL %s: %w", release, err)
	}

	return nil
}
