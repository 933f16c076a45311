package sqlinbox_test

import (
	"context"
	"database/sql"
	"errors"
	"log"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

//leat:level 1
func TestMain(m *testing.M) {
	if err := testenv.SideBySide(); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}

// database is a test's own database: a pool for the inboxes, whose commits can be cut, and one to see what
// is committed.
type database struct {
	dialect outbox.Dialect
	db      *sql.DB
	look    *sql.DB
	commits *sqltest.Commits
	config  *mysql.Config // of a server
}

// opener opens a database. On a server, settings apply to the inboxes' sessions.
type opener func(tb testing.TB, settings map[string]string) *database

func openMySQL(tb testing.TB, settings map[string]string) *database {
	tb.Helper()
	return openServer(tb, outbox.MySQL, testenv.MySQL(tb), settings)
}

func openMariaDB(tb testing.TB, settings map[string]string) *database {
	tb.Helper()
	return openServer(tb, outbox.MariaDB, testenv.MariaDB(tb), settings)
}

func openServer(tb testing.TB, dialect outbox.Dialect, server testenv.MySQLServer, settings map[string]string) *database {
	tb.Helper()
	config := sqltest.NewMySQLDatabase(tb, server.URL)
	commits := &sqltest.Commits{}
	return &database{
		dialect: dialect, commits: commits, config: config, look: sqltest.OpenMySQL(tb, config, nil),
		db: pool(tb, sql.OpenDB(commits.Connector(sqltest.MySQLConnector(tb, config, settings)))),
	}
}

// openSQLite opens a file with a busy_timeout that is shorter than the suite waits, and longer than a
// handler takes.
func openSQLite(tb testing.TB, _ map[string]string) *database {
	tb.Helper()
	return openFile(tb, url.Values{"_pragma": {"busy_timeout(500)", "journal_mode(WAL)", "synchronous(FULL)"}})
}

// openPatientSQLite opens a file with the busy_timeout that the documentation recommends.
func openPatientSQLite(tb testing.TB, _ map[string]string) *database {
	tb.Helper()
	return openFile(tb, nil)
}

func openFile(tb testing.TB, with url.Values) *database {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "leat.db")
	commits := &sqltest.Commits{}
	return &database{
		dialect: outbox.SQLite, commits: commits, look: sqltest.OpenSQLite(tb, path, nil),
		db: pool(tb, sql.OpenDB(commits.Connector(sqltest.SQLiteConnector(path, with)))),
	}
}

func pool(tb testing.TB, db *sql.DB) *sql.DB {
	tb.Helper()
	db.SetMaxOpenConns(2)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	return db
}

// servers returns the databases that allow several writers.
func servers() map[string]opener {
	return map[string]opener{"MySQL": openMySQL, "MariaDB": openMariaDB}
}

// databases returns all databases.
func databases() map[string]opener {
	all := servers()
	all["SQLite"] = openSQLite
	return all
}

// subject is an inboxtest.Subject on a database.
type subject struct {
	*database

	cfg sqlinbox.Config
}

func newSubject(tb testing.TB, db *database, cfg sqlinbox.Config) *subject {
	tb.Helper()
	ctx := context.Background()
	in, err := sqlinbox.New(db.look, db.dialect, "migrator", cfg)
	require.NoError(tb, err)
	require.NoError(tb, in.Migrate(ctx))
	for _, table := range []string{"effects", "enqueued"} {
		_, err = db.look.ExecContext(ctx, `CREATE TABLE `+table+` (what BLOB NOT NULL)`)
		require.NoError(tb, err)
	}
	return &subject{database: db, cfg: cfg}
}

func (s *subject) Open(consumer string, cfg inbox.Config) (inbox.Runner, error) {
	return s.open(consumer, cfg)
}

func (s *subject) Marker() (driver.Marker, error) { return s.open("marker", inbox.Config{}) }

func (s *subject) open(consumer string, cfg inbox.Config) (*sqlinbox.Inbox, error) {
	full := s.cfg
	full.Config = cfg
	return sqlinbox.New(s.db, s.dialect, consumer, full)
}

func (s *subject) OpenBatch(consumer string, cfg inbox.Config, batch inbox.BatchConfig) (inboxtest.BatchProcessor, error) {
	in, err := s.open(consumer, cfg)
	if err != nil {
		return nil, err
	}
	return inbox.NewBatch(in.Processor, batch)
}

func (*subject) Write(ctx context.Context, effect string) error {
	return add(ctx, "effects", effect)
}

// add inserts a row in the delivery's transaction.
func add(ctx context.Context, table, what string) error {
	tx := sqlinbox.Tx(ctx)
	if tx == nil {
		return outbox.ErrNotInTransaction
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO `+table+` VALUES (?)`, []byte(what))
	return err
}

func (s *subject) Effects(ctx context.Context) ([]string, error) {
	return s.strings(ctx, `SELECT what FROM effects`)
}

func (s *subject) Enqueued(ctx context.Context) ([]string, error) {
	return s.strings(ctx, `SELECT what FROM enqueued`)
}

func (s *subject) strings(ctx context.Context, query string) (all []string, err error) {
	rows, err := s.look.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text []byte
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, string(text))
	}
	return all, rows.Err()
}

func (s *subject) Recorded(ctx context.Context, consumer, id string) (found bool, err error) {
	stored, _ := ids.Map(id)
	err = s.look.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM leat_inbox i JOIN leat_inbox_consumers c ON c.id = i.consumer
		WHERE c.name = ? AND i.id = ?)`, []byte(consumer), stored[:]).Scan(&found)
	return found, err
}

func (s *subject) Admin() (admin.Inbox, error) { return s.admin() }

func (s *subject) admin() (admin.Inbox, error) {
	return sqlinbox.NewAdmin(s.look, s.dialect, s.cfg)
}

func (s *subject) ShareLock(consumer, id, other string) bool {
	return s.dialect == outbox.SQLite || bucket(consumer, id) == bucket(consumer, other)
}

// bucket returns the number of the lock of a message.
func bucket(consumer, id string) uint64 {
	stored, _ := ids.Map(id)
	return uint64(keyhash.Lock("inbox", "leat_inbox", consumer, string(stored[:]))) % 4096
}

func (s *subject) Forget(ctx context.Context, age time.Duration) error {
	m, err := sqlinbox.NewMaintenance(s.look, s.dialect, s.cfg, sqlinbox.MaintenanceConfig{Retention: age})
	if err != nil {
		return err
	}
	_, err = m.RunOnce(ctx)
	return err
}

func (*subject) Outbox() outbox.Enqueuer { return enqueuer{} }

func (s *subject) BreakCommit(applied bool) {
	if applied {
		s.commits.Arm(sqltest.CutAfter)
	} else {
		s.commits.Arm(sqltest.CutBefore)
	}
}

// enqueuer is a minimal outbox in the same database.
type enqueuer struct{}

func (enqueuer) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	for _, m := range msgs {
		if err := add(ctx, "enqueued", m.ID); err != nil {
			return err
		}
	}
	return nil
}

func (enqueuer) Wake() {}
