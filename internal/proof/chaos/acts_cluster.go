package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
)

// promote starts the copy of the data as a standby, and promotes it.
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
	return becomePrimary(ctx, st.postgres)
}

// becomePrimary promotes a standby.
func becomePrimary(ctx context.Context, standby *testenv.Own) error {
	promoted, err := askServer[bool](ctx, standby, `SELECT pg_promote()`)
	if err == nil && !promoted {
		err = errNotPromoted
	}
	return err
}

// askServer returns the single value that a statement returns.
func askServer[T any](ctx context.Context, server *testenv.Own, sql string, args ...any) (value T, err error) {
	conn, err := pgx.Connect(ctx, server.Address)
	if err != nil {
		return value, fmt.Errorf("connect to %s: %w", server.HostPort, err)
	}
	err = conn.QueryRow(ctx, sql, args...).Scan(&value)
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return value, fmt.Errorf("%s: %w", sql, err)
	}
	return value, nil
}

var errNotPromoted = errors.New("the standby did not become a primary")

// splitFor is how long each stage of a split lasts.
const splitFor = 4 * time.Second

// splitBrain promotes a standby while the former primary goes on. One process of each role moves to the
// new primary at once, the bank and the other relays later, the other consumer last. Everything committed
// on the former primary since the promotion is lost.
func (in *injection) splitBrain(ctx context.Context, f *fault) (err error) {
	st := in.stage
	if st.options.Tail { // testenv's standbys have no replication slot for the tail
		f.consequence = "left out"
		return nil
	}
	standby, err := testenv.OwnStandby(ctx, st.postgres, map[string]string{"max_connections": postgresConnections, "fsync": "off"})
	if err != nil {
		return fmt.Errorf("start a standby: %w", err)
	}
	defer func() { err = errors.Join(err, standby.Close()) }() //nolint:contextcheck // it ends although ctx has ended
	st.store.forget()                                          // OwnStandby has restarted the primary
	if !in.flows(ctx, goOnWithin) {
		in.stood("nothing goes on with a standby")
	}
	from := time.Now()
	if err := st.followed(ctx, standby); err != nil {
		return err
	}
	if err := becomePrimary(ctx, standby); err != nil {
		return err
	}
	relays, exact, ledgers := in.processes.of(roles.Relay), in.processes.of(roles.Exact), in.processes.of(roles.Ledger)
	leadAll(ctx, standby, relays[:1], exact[:1], ledgers[:1], in.processes.of(roles.Notifier))
	if !in.flows(ctx, goOnWithin) {
		in.stood("nothing goes on at the former primary")
	}
	wait.Full(ctx, splitFor)
	leadAll(ctx, standby, in.processes.of(roles.Bank), relays[1:], exact[1:])
	moved := time.Now()
	wait.Full(ctx, splitFor)
	leadAll(ctx, standby, ledgers[1:])
	until := time.Now()
	if err := in.tell(from, moved, until); err != nil {
		return err
	}
	if err := st.takeOver(ctx, standby); err != nil {
		return err
	}
	leadAll(ctx, st.postgres, in.processes.of(roles.Bank), relays, exact, ledgers, in.processes.of(roles.Notifier))
	st.losses = append(st.losses, loss{from, time.Now()})
	return in.repairAll(ctx, f)
}

// followed waits until a standby has everything that the primary has now.
func (st *stage) followed(ctx context.Context, standby *testenv.Own) error {
	end, err := askServer[string](ctx, st.postgres, `SELECT pg_current_wal_insert_lsn()::text`)
	for there := false; err == nil && !there; {
		wait.Full(ctx, 5*time.Millisecond)
		there, err = askServer[bool](ctx, standby, `SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn`, end)
	}
	return err
}

// takeOver moves the data of the new primary to where the former primary's was: all acts and faults that
// follow expect it there.
func (st *stage) takeOver(ctx context.Context, standby *testenv.Own) error {
	if err := errors.Join(st.postgres.End(ctx, syscall.SIGQUIT), standby.End(ctx, syscall.SIGINT)); err != nil {
		return err
	}
	if err := st.postgres.TakeData(ctx, filepath.Join(standby.Dir(), "data")); err != nil {
		return err
	}
	if err := st.postgres.Start(ctx); err != nil {
		return err
	}
	st.store.forget()
	return nil
}

// nobodyFor is how long a process that moves to another server cannot reach any server.
const nobodyFor = 300 * time.Millisecond

// leadAll makes processes connect to a server, as a proxy or a DNS name does after a failover.
func leadAll(ctx context.Context, server *testenv.Own, all ...[]*process) {
	moving := slices.Concat(all...)
	for _, hostPort := range []string{"127.0.0.1:1", server.HostPort} {
		for _, p := range moving {
			p.wire.lead(hostPort)
			p.wire.cut()
		}
		wait.Full(ctx, nobodyFor)
	}
}

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

// dumpTries bounds the attempts at a dump, which retention may spoil.
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

// restoreDatabases creates a new cluster and restores the dumps into it.
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

// restoreDatabase restores a database. Clients cannot connect to it before it is complete.
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

// restoring is the temporary name of a database that is not complete yet.
const restoring = "restoring"

// programWithin bounds the run of a client program.
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
