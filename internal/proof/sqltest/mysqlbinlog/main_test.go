package mysqlbinlog_test

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/mysqlbinlog"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

//leat:level 1
func TestMain(m *testing.M) { testenv.Main(m) }

// patience limits every wait.
const patience = time.Minute

// shop is a database with an outbox, on a server that writes a binary log.
type shop struct {
	server  *testenv.PrivateMySQLServer
	dialect outbox.Dialect
	config  *mysql.Config
	db      *sql.DB
	ob      *sqloutbox.Outbox
}

// runner is a test or a benchmark, with its Run method.
type runner[T any] interface {
	testing.TB
	Run(name string, f func(t T)) bool
}

// onServers runs a test on a MySQL server and on a MariaDB server of its own.
func onServers[T runner[T]](t T, test func(t T, newShop func(t T) *shop)) {
	t.Helper()
	for dialect, start := range map[outbox.Dialect]func(testing.TB, map[string]string) *testenv.PrivateMySQLServer{
		outbox.MySQL: testenv.PrivateMySQL, outbox.MariaDB: testenv.PrivateMariaDB,
	} {
		t.Run(string(dialect), func(t T) {
			server := start(t, map[string]string{"log-bin": "binlog", "sync-binlog": "1", "binlog-format": "ROW", "server-id": "1"})
			test(t, func(t T) *shop {
				t.Helper()
				config := sqltest.NewMySQLDatabase(t, server.URL)
				s := &shop{server: server, dialect: dialect, config: config, db: sqltest.OpenMySQL(t, config, nil)}
				var err error
				s.ob, err = sqloutbox.New(s.db, dialect, sqloutbox.Config{})
				require.NoError(t, err)
				require.NoError(t, s.ob.Migrate(t.Context()))
				return s
			})
		})
	}
}

// bell runs a Bell until the test ends. Each of its rings is sent to the channel, without coalescing; the
// first one, of the connection, has already been received.
func (s *shop) bell(t *testing.T, cfg mysqlbinlog.Config) (rings <-chan struct{}, said *journal) {
	t.Helper()
	c := make(chan struct{}, 1000)
	said = &journal{}
	cfg.DSN, cfg.Logger = s.config.FormatDSN(), slog.New(slog.NewTextHandler(said, nil))
	run(t, func() { c <- struct{}{} }, cfg)
	heard(t, c)
	return c, said
}

func run(tb testing.TB, ring func(), cfg mysqlbinlog.Config) {
	tb.Helper()
	b, err := mysqlbinlog.New(ring, cfg)
	require.NoError(tb, err)
	runs(tb, b.Run)
}

// runs calls run in the background, and ends its context when the test ends.
func runs(tb testing.TB, run func(ctx context.Context)) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	tb.Cleanup(func() {
		cancel()
		<-done
	})
}

func heard(t *testing.T, rings <-chan struct{}) {
	t.Helper()
	select {
	case <-rings:
	case <-time.After(patience):
		require.Fail(t, "nothing rang")
	}
}

func (s *shop) exec(t *testing.T, statements ...string) {
	t.Helper()
	conn, err := s.db.Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	for _, statement := range statements {
		_, err := conn.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

// enqueue commits a message like another process, whose Wake does not reach this one.
func (s *shop) enqueue(tb testing.TB, ids ...string) {
	tb.Helper()
	other, err := sqloutbox.New(s.db, s.dialect, sqloutbox.Config{})
	require.NoError(tb, err)
	messages := make([]outbox.Message, len(ids))
	for i, id := range ids {
		messages[i] = outbox.Message{ID: id, Topic: "t", Key: "k", Payload: []byte(id)}
	}
	require.NoError(tb, other.InTx(tb.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return other.Enqueue(ctx, tx, messages...)
	}))
}

// journal collects what was logged.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, string(line))
	return len(line), nil
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.lines...)
}
