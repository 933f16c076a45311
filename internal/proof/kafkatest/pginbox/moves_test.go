package pginbox_test

import (
	"context"
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestMoves moves the database of a running service by the steps of docs/moves.md: with producers, a
// relay, consumers with redeliveries, parked and delayed messages, and a group that is far behind. The
// verdict is based on ids, as in TestChanges.
//
//leat:level 4
func TestMoves(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(m *moving){
		"failover to a standby that had everything": failOver, "dump and restore": dumpAndRestore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &moving{}
			m.server = testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off"}})
			m.world = newWorld(t, m.open)
			m.begin()
			move(m)
			m.finish()
			require.Empty(t, m.judge())
		})
	}
}

// moving is a service whose database is moved.
type moving struct {
	*world

	server *testenv.PostgresServer
	there  atomic.Pointer[string] // where connections lead
	pool   *pgxpool.Pool
}

// open opens a database that can be moved.
func (m *moving) open(t *testing.T, log *slog.Logger) store {
	t.Helper()
	m.there.Store(new(m.server.Address()))
	cfg := m.server.Database(t, template).Pool.Config()
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, *m.there.Load())
	}
	var err error
	m.pool, err = pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(m.pool.Close)
	db := stdlib.OpenDBFromPool(m.pool)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	s := storeOf(t, log, m.pool, db)
	in, err := pginbox.New(m.pool, "marks", pginbox.Config{})
	require.NoError(t, err)
	s.marks = in
	return s
}

// begin runs the service until it has every kind of state that a move could lose.
func (m *moving) begin() {
	m.repeats = true
	m.refuses.Store(true)
	m.run()
	m.parked()
	m.effects("billed")
	_, err := m.commit(m.orders, "", 15*time.Second)
	require.NoError(m.t, err)
}

// run starts the relay and the consumer that keeps up.
func (m *moving) run() {
	m.relay(group{Slots: 2}, relay.Config{Lease: 3 * time.Second, PublishTimeout: time.Second, LeaseMargin: 500 * time.Millisecond}, m.sink())
	m.consume(m.kafkasource("prompt"), "prompt", manner{Config: parks()}, "billed")
}

// stopAll stops producers, relays and consumers.
func (m *moving) stopAll() {
	m.t.Helper()
	m.stopWriting()
	for _, c := range m.consumers {
		c.stop()
	}
	m.stopped(m.relays...)
	m.consumers, m.relays = nil, nil
}

// finish restarts the producers after the move, and lets the group that is far behind read everything.
func (m *moving) finish() {
	m.t.Helper()
	m.startWriting()
	m.progress(20)
	m.effects("billed")
	m.consume(m.kafkasource("late"), "late", manner{Config: parks()}, "shipped")
	m.effects("shipped")
	m.rest()
}

// failOver promotes a standby under a running relay and consumer. Producers pause, so that the judge knows
// what was committed.
func failOver(m *moving) {
	m.stopWriting()
	standby := m.server.Standby(m.t) // restarts the primary
	m.pool.Reset()
	m.startWriting()
	m.progress(20)
	m.effects("billed")
	m.stopWriting()
	standby.Cut()
	m.server.Stop("immediate")
	m.there.Store(new(standby.Address()))
	promote(m.t, standby.Address(), m.pool)
}

func promote(t *testing.T, address string, pool *pgxpool.Pool) {
	t.Helper()
	cfg := pool.Config()
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	there, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer there.Close()
	_, err = there.Exec(t.Context(), "SELECT pg_promote(true, 60)")
	require.NoError(t, err)
}

// dumpAndRestore stops everything, and continues with another server.
func dumpAndRestore(m *moving) {
	other := testenv.PrivatePostgres(m.t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off"}})
	m.stopAll()
	file := filepath.Join(m.t.TempDir(), "dump")
	m.program("pg_dump", "-Fc", "-f", file, "-d", m.pool.Config().ConnConfig.Database, "-h", "127.0.0.1", "-p", port(m.t, m.server.Address()))
	m.program("pg_restore", "-C", "-d", "postgres", "-h", "127.0.0.1", "-p", port(m.t, other.Address()), file)
	m.there.Store(new(other.Address()))
	m.pool.Reset()
	ob, err := pgoutbox.New(m.pool, pgoutbox.Config{})
	require.NoError(m.t, err)
	require.NoError(m.t, ob.Rebase(m.t.Context(), pgoutbox.RebaseRequest{Unsettled: true, Actor: "ann", Reason: "moved"}))
	m.run()
}

func port(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return port
}

// program runs one of PostgreSQL's programs.
func (m *moving) program(name string, args ...string) {
	m.t.Helper()
	var dir string
	require.NoError(m.t, m.pool.QueryRow(m.t.Context(), "SELECT setting FROM pg_config WHERE name = 'BINDIR'").Scan(&dir))
	out, err := exec.CommandContext(m.t.Context(), filepath.Join(dir, name), append([]string{"-U", "postgres"}, args...)...).CombinedOutput()
	require.NoError(m.t, err, string(out))
}
