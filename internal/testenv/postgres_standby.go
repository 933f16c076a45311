package testenv

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/wait"
)

// PostgresStandby is a standby of a server of a test's own. It is gone when the test ends.
type PostgresStandby struct {
	private

	primary *PostgresServer
}

// Address is the standby's host and port.
func (s *PostgresStandby) Address() string { return s.own.HostPort }

// Address is the server's host and port.
func (s *PostgresServer) Address() string { return s.own.HostPort }

// Pause waits until the standby has applied all that the primary has written, and then keeps it from
// applying more until [PostgresStandby.Resume].
func (s *PostgresStandby) Pause() {
	s.tb.Helper()
	end := askOne[string](s.tb, s.primary.URL(), "SELECT pg_current_wal_insert_lsn()::text")
	s.await("SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn", end)
	s.run("SELECT pg_wal_replay_pause()")
	s.await("SELECT pg_get_wal_replay_pause_state() = 'paused'")
}

// Resume lets the standby go on.
func (s *PostgresStandby) Resume() {
	s.tb.Helper()
	s.run("SELECT pg_wal_replay_resume()")
}

// run runs a statement that returns void on the standby.
func (s *PostgresStandby) run(sql string) {
	s.tb.Helper()
	askOne[any](s.tb, s.own.Address, sql)
}

// await asks the standby until the answer is true.
func (s *PostgresStandby) await(sql string, args ...any) {
	s.tb.Helper()
	for !askOne[bool](s.tb, s.own.Address, sql, args...) {
		if err := wait.For(s.tb.Context(), 5*time.Millisecond); err != nil {
			s.tb.Fatal(err)
		}
	}
}

// askOne returns the one value that a statement returns.
func askOne[T any](tb testing.TB, address, sql string, args ...any) (value T) {
	tb.Helper()
	conn, err := connectPostgres(tb.Context(), address)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(tb.Context())) }()
	rows, err := conn.Query(tb.Context(), sql, args...)
	if err != nil {
		tb.Fatal(err)
	}
	if value, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[T]); err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}

	return value
}
