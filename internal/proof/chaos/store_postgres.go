package chaos

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/proof/report"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// postgresStore is also the store of acts: they work on the stage's pools.
type postgresStore struct{ *stage }

// postgresConnections is the maximum number of connections of the server, and so of its standby.
const postgresConnections = "200"

func (s postgresStore) start(ctx context.Context) (own *testenv.Own, err error) {
	settings := map[string]string{
		// fsync can be off, since a crash of the server keeps the operating system's cache.
		"fsync": "off", "max_connections": postgresConnections, "shared_buffers": "128MB", "max_wal_size": "512MB",
		// A short naptime is needed, since a crash discards the counts that autovacuum relies on.
		"autovacuum_naptime": "1s",
	}
	if s.options.Tail {
		settings["wal_level"] = "logical"
	}
	s.postgres, err = testenv.OwnPostgres(ctx, testenv.PostgresOptions{Settings: settings})
	return s.postgres, err
}

func (s postgresStore) open(ctx context.Context) error {
	if err := s.openDatabases(ctx); err != nil || !s.options.Tail {
		return err
	}
	return s.publish(ctx)
}

func (s postgresStore) forget() {
	s.bank.Reset()
	s.ledger.Reset()
}

func (s postgresStore) service() report.Service {
	return report.Service{Name: "PostgreSQL", Version: s.postgres.Version}
}

func (s postgresStore) roster() []member {
	return []member{
		{"bank-1", roles.Bank},
		{"relay-1", roles.Relay},
		{"relay-2", roles.Relay},
		{"ledger-1", roles.Ledger},
		{"ledger-2", roles.Ledger},
		{"exact-1", roles.Exact},
		{"exact-2", roles.Exact},
		{"notifier-1", roles.Notifier},
	}
}

func (s postgresStore) address(role, _, hostPort string) (string, error) {
	name := ledgerDatabase
	if role == roles.Bank || role == roles.Relay {
		name = bankDatabase
	}
	address, err := s.database(name, serviceUser, hostPort)
	address += "&pool_max_conns=12"
	if role == roles.Relay && s.splits.Load() {
		address += "&default_query_exec_mode=cache_describe"
	}
	return address, err
}

func (s postgresStore) isCommit(b []byte) bool { return faultnet.IsCommit(b) }

func (s postgresStore) strikes(deed) bool { return true }

func (s postgresStore) crash() serverFault {
	return serverFault{
		pointServer(roles.Postgres), kindCrash,
		[]string{roles.Relay, roles.Exact, roles.Ledger, roles.Notifier, roles.Bank},
		s.restart(s.postgres, syscall.SIGQUIT),
	}
}

func (s postgresStore) lines(in *injection) []serverFault {
	relays := []string{roles.Relay, roles.Exact}
	all := []serverFault{
		{pointTransaction, kindHeld, relays, in.foreign(s.hold)},
		{pointTransaction, kindPrepared, relays, in.foreign(s.prepare)},
	}
	if s.options.Tail {
		all = append(all, s.tails()...)
	}
	return all
}

// hold begins a foreign transaction.
func (s postgresStore) hold(ctx context.Context) (end func() error, err error) {
	conn, err := s.bank.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if _, err := conn.Exec(ctx, `BEGIN; SELECT pg_current_xact_id()`, pgx.QueryExecModeSimpleProtocol); err != nil {
		conn.Release()
		return nil, fmt.Errorf("begin: %w", err)
	}
	return func() error {
		defer conn.Release()
		if _, err := conn.Exec(ctx, `COMMIT`); err != nil {
			return fmt.Errorf("end: %w", err)
		}
		return nil
	}, nil
}

// prepare prepares a foreign transaction.
func (s postgresStore) prepare(ctx context.Context) (end func() error, err error) {
	_, err = s.bank.Exec(ctx, `BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'foreign'`, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare: %w", err), s.endPrepared(ctx))
	}
	return func() error { return s.endPrepared(ctx) }, nil
}

// endPrepared ends the prepared transaction, if there is one. It outlives its connection, the server's
// crashes and the run, and would keep vacuum from removing dead rows.
func (s postgresStore) endPrepared(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	for {
		_, err := s.bank.Exec(ctx, `COMMIT PREPARED 'foreign'`)
		if err == nil || pgerr.Is(err, pgerr.UndefinedObject) {
			return nil
		}
		if !wait.Full(ctx, time.Second) {
			return fmt.Errorf("end the prepared transaction: %w", err)
		}
	}
}

// pending returns how many records wait for the relays of a role, at most 100.
func (s postgresStore) pending(ctx context.Context, role string) (n int64) {
	var pool *pgxpool.Pool
	switch role {
	case roles.Relay:
		pool = s.bank
	case roles.Exact:
		pool = s.ledger
	default:
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	err := pool.QueryRow(ctx, `SELECT count(*) FROM (SELECT FROM leat.outbox_pending LIMIT 100) p`).Scan(&n)
	if err != nil { // an unknown number does not count
		return 0
	}
	return n
}

// terminate ends a backend of a process. If inTransaction is true, it ends one that is in a transaction.
func (s postgresStore) terminate(ctx context.Context, name string, inTransaction bool) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for {
		var ended bool
		err := s.bank.QueryRow(ctx, `
			SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE application_name = $1 AND (xact_start IS NOT NULL OR NOT $2) ORDER BY random() LIMIT 1`,
			name, inTransaction).Scan(&ended)
		switch {
		case err == nil:
			return ended
		case !errors.Is(err, pgx.ErrNoRows) || !wait.Full(ctx, 5*time.Millisecond):
			return false
		}
	}
}

func (s postgresStore) leftovers() []leftover {
	rows := func(pool *pgxpool.Pool, sql string) func(context.Context) (int64, error) {
		return func(ctx context.Context) (n int64, err error) {
			return n, pool.QueryRow(ctx, sql).Scan(&n)
		}
	}
	all := []leftover{
		{"transactions of the bank", rows(s.bank, openSQL)},
		{"records of the ledger's outbox", rows(s.ledger, pendingSQL)},
	}
	if s.options.Sabotage != roles.IDCursor {
		all = append(all, leftover{"records of the bank's outbox", rows(s.bank, pendingSQL)})
	}
	return all
}

// openSQL counts the bank's open transactions.
const openSQL = `
	SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'bank%' AND xact_start IS NOT NULL`

// pendingSQL counts the records to send, for the first time or again.
const pendingSQL = `
	SELECT (SELECT count(*) FROM leat.outbox_pending)
	     + (SELECT count(*) FROM leat.outbox_held h WHERE h.state = 'retry')`

func (s postgresStore) counted(ctx context.Context) (enqueued, effects int64) {
	last := func(pool *pgxpool.Pool, table, column string) int64 {
		var n *int64
		err := pool.QueryRow(ctx, `SELECT pg_sequence_last_value(pg_get_serial_sequence($1, $2))`, table, column).Scan(&n)
		if err != nil || n == nil {
			return -1
		}
		return *n
	}
	return last(s.bank, "leat.outbox", "seq"), last(s.ledger, "effects", "no")
}

func (s postgresStore) dropParked(ctx context.Context) error {
	ob, err := pgoutbox.New(s.bank, pgoutbox.Config{})
	if err != nil {
		return err
	}
	_, err = ob.Admin().Drop(ctx, tooLarge())
	return err
}

func (s postgresStore) dump(ctx context.Context, d dumper) error {
	if err := d.bank(ctx, s.bank); err != nil {
		return err
	}
	if err := d.ledger(ctx, s.ledger); err != nil {
		return err
	}
	return d.waiting(ctx, s.bank, s.ledger)
}
