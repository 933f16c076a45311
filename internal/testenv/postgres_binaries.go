package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// postgresBinaries is a directory that holds postgres and initdb.
type postgresBinaries struct {
	dir    string
	origin string
}

// oldestPostgres is the oldest major version that leat supports.
const oldestPostgres = 14

// localPostgres looks for binaries on this machine: where the environment says,
// where Debian puts them, the newest first, then in PATH.
func localPostgres(ctx context.Context) (postgresBinaries, bool) {
	if dir := os.Getenv(EnvPostgresBin); dir != "" {
		return postgresBinaries{dir: dir, origin: dir + " (" + EnvPostgresBin + ")"}, true
	}
	for _, dir := range postgresDirs() {
		if usablePostgres(ctx, dir) {
			return postgresBinaries{dir: dir, origin: dir}, true
		}
	}

	return postgresBinaries{}, false
}

// postgresDirs are the directories worth a look, best first.
func postgresDirs() []string {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(dirs, func(a, b string) int { return debianMajor(b) - debianMajor(a) })
	if path, err := exec.LookPath("initdb"); err == nil {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(target))
		}
	}

	return dirs
}

func debianMajor(bin string) int {
	major, err := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	if err != nil {
		return 0
	}

	return major
}

// usablePostgres reports whether both programs are there and new enough. The
// client packages alone bring pg_ctl's directory without them.
func usablePostgres(ctx context.Context, dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return false
	}
	output, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return false
	}
	fields := strings.Fields(string(output)) // postgres (PostgreSQL) 15.14 (Debian …)
	if len(fields) < 3 {
		return false
	}
	major, err := strconv.Atoi(majorOf(fields[2]))

	return err == nil && major >= oldestPostgres
}

// versionedPostgres returns the binaries of a major version.
func versionedPostgres(ctx context.Context, major string) (postgresBinaries, error) {
	return fetchPostgres(ctx, major)
}

// wantedPostgres returns the binaries that a server of our own is started from:
// those of the version asked for, else what is on the machine, installed or
// fetched if need be.
func wantedPostgres(ctx context.Context, version string) (postgresBinaries, error) {
	if version == "" {
		version = os.Getenv(EnvPostgresVersion)
	}
	if version != "" {
		return versionedPostgres(ctx, majorOf(version))
	}
	if b, ok := localPostgres(ctx); ok {
		return b, nil
	}
	if mayInstall() {
		if err := install(ctx, "postgresql"); err != nil {
			return postgresBinaries{}, err
		}
		if b, ok := localPostgres(ctx); ok {
			b.origin += ", installed by this run"

			return b, nil
		}

		return postgresBinaries{}, fmt.Errorf("%w: the package postgresql brought no usable server", ErrUnavailable)
	}

	return fetchPostgres(ctx, newestPostgres)
}
