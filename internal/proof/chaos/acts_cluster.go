package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// promote starts the copy as a standby, and promotes it.
func (st *stage) promote(ctx context.Context) error {
	if err := st.postgres.TakeData(ctx, st.copyPath()); err != nil {
		return err
	}
	signal := filepath.Join(st.postgres.Dir(), "data", "standby.signal")
	if err := os.WriteFile(signal, nil, 0o644); err != nil { //nolint:gosec // the server's account reads it
		return fmt.Errorf("make a standby: %w", err)
	}
	if err := st.postgres.Start(ctx); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, st.postgres.Address)
	if err != nil {
		return fmt.Errorf("connect to the standby: %w", err)
	}
	var promoted bool
	err = conn.QueryRow(ctx, `SELECT pg_promote()`).Scan(&promoted)
	if err == nil && !promoted {
		err = errNotPromoted
	}
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return fmt.Errorf("promote the standby: %w", err)
	}
	return nil
}

var errNotPromoted = errors.New("the standby did not become a primary")

// dumpPath is the path of a database's dump.
func (st *stage) dumpPath(name string) string { return filepath.Join(st.options.Dir, name+".dump") }

// dumpDatabases dumps both databases.
func (st *stage) dumpDatabases(ctx context.Context) error {
	for _, name := range []string{bankDatabase, ledgerDatabase} {
		if err := st.dumpDatabase(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// dumpTries bounds the dumps that retention may spoil.
const dumpTries = 10

// dumpDatabase dumps a database. pg_dump lists the tables before it locks them, and fails if
// retention drops a range in between.
func (st *stage) dumpDatabase(ctx context.Context, name string) (err error) {
	for range dumpTries {
		err = st.runClient(ctx, "pg_dump", name, "-Fc", "-f", st.dumpPath(name))
		if err == nil || !strings.Contains(err.Error(), "does not exist") {
			return err
		}
	}
	return err
}

// restoreDatabases makes a new cluster and restores the dumps into it.
func (st *stage) restoreDatabases(ctx context.Context) error {
	if err := st.postgres.NewCluster(ctx); err != nil {
		return err
	}
	if err := st.postgres.Start(ctx); err != nil {
		return err
	}
	for _, name := range []string{bankDatabase, ledgerDatabase} {
		if err := st.restoreDatabase(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// restoreDatabase restores a database, and admits no client before it is complete.
func (st *stage) restoreDatabase(ctx context.Context, name string) error {
	admin, err := pgx.Connect(ctx, st.postgres.Address)
	if err != nil {
		return fmt.Errorf("connect to the new cluster: %w", err)
	}
	err = makeDatabase(ctx, admin, restoring)
	if err == nil {
		err = st.runClient(ctx, "pg_restore", restoring, st.dumpPath(name))
	}
	if err == nil {
		_, err = admin.Exec(ctx, "ALTER DATABASE "+restoring+" RENAME TO "+name)
	}
	if err := errors.Join(err, admin.Close(ctx)); err != nil {
		return fmt.Errorf("restore %s: %w", name, err)
	}
	return nil
}

// restoring is the name of a database that is not complete yet.
const restoring = "restoring"

// programWithin bounds a client program.
const programWithin = 5 * time.Minute

// runClient runs one of PostgreSQL's client programs on a database.
func (st *stage) runClient(ctx context.Context, program, database string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, programWithin)
	defer cancel()
	address, err := st.database(database, "", st.postgres.HostPort)
	if err != nil {
		return err
	}
	path, err := st.postgres.Program(program)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, path, append([]string{"-d", address}, args...)...).CombinedOutput() //nolint:gosec // our own arguments
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", program, database, err, out)
	}
	return nil
}
