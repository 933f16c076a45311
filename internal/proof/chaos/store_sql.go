package chaos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/proof/report"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// sqlStore is MySQL, MariaDB or SQLite.
type sqlStore struct {
	*stage

	books, effects *sql.DB // of bank and ledger, not through a proxy
}

// isFile reports whether the store has no server.
func (s *sqlStore) isFile() bool { return s.options.Store == roles.SQLite }

// start starts the server with its default settings, but without a binary log: InnoDB then shows
// commits before they are durable, so that a relay must fence what it reads.
func (s *sqlStore) start(ctx context.Context) (*testenv.Own, error) {
	switch s.options.Store {
	case roles.MySQL:
		return testenv.OwnMySQL(ctx, map[string]string{"skip-log-bin": ""})
	case roles.MariaDB:
		return testenv.OwnMariaDB(ctx, nil)
	default:
		return nil, nil //nolint:nilnil // a file needs none
	}
}

func (s *sqlStore) service() report.Service {
	name := map[string]string{roles.MySQL: "MySQL", roles.MariaDB: "MariaDB", roles.SQLite: "SQLite"}[s.options.Store]
	if s.server != nil {
		return report.Service{Name: name, Version: s.server.Version}
	}
	var version string
	if err := s.books.QueryRow("SELECT sqlite_version()").Scan(&version); err != nil { //nolint:noctx // a function of the library
		version = err.Error()
	}
	return report.Service{Name: name, Version: version}
}

// roster has a bank and a ledger for each isolation level that they may use.
func (s *sqlStore) roster() []member {
	return pairs(member{"bank-1", roles.Bank}, member{"bank-2", roles.Bank}, member{"bank-3", roles.Bank})
}

// levels returns the isolation levels of a role's processes, by the suffix of their names.
func levels() map[string]string {
	return map[string]string{"1": "REPEATABLE-READ", "2": "READ-COMMITTED", "3": "SERIALIZABLE"}
}

func databaseOf(role string) string {
	if role == roles.Bank || role == roles.Relay {
		return bankDatabase
	}
	return ledgerDatabase
}

func (s *sqlStore) address(role, process, hostPort string) (string, error) {
	if s.isFile() {
		return s.path(databaseOf(role)), nil
	}
	_, number, _ := strings.Cut(process, "-")
	u := url.URL{Scheme: "mysql", User: url.User(process), Host: hostPort, Path: "/" + databaseOf(role)}
	u.RawQuery = url.Values{s.isolationVariable(): {"'" + levels()[number] + "'"}}.Encode()
	return u.String(), nil
}

// isolationVariable is the name of the variable of a session's isolation level.
func (s *sqlStore) isolationVariable() string {
	if s.options.Store == roles.MariaDB { // its name until 11.1
		return "tx_isolation"
	}
	return "transaction_isolation"
}

// path returns the file of a database.
func (s *sqlStore) path(database string) string { return filepath.Join(s.options.Dir, database+".db") }

func (s *sqlStore) open(ctx context.Context) (err error) {
	if s.books, err = s.make(ctx, s.home(), bankDatabase, "accounts"); err != nil {
		return err
	}
	if s.effects, err = s.make(ctx, s.home(), ledgerDatabase, "balances"); err != nil {
		return err
	}
	in, err := sqlinbox.New(s.effects, outbox.Dialect(s.options.Store), roles.Ledger, sqlinbox.Config{})
	if err != nil {
		return err
	}
	return in.Migrate(ctx)
}

// home returns the server's address, empty for a file.
func (s *sqlStore) home() string {
	if s.isFile() {
		return ""
	}
	return s.server.Address
}

// make makes a database with an outbox and books, and users for the processes.
func (s *sqlStore) make(ctx context.Context, server, database, accounts string) (*sql.DB, error) {
	address := s.path(database)
	if !s.isFile() {
		if err := s.onServer(ctx, server, database); err != nil {
			return nil, err
		}
		address = strings.TrimSuffix(server, "/") + "/" + database
	}
	db, err := s.connect(address)
	if err != nil {
		return nil, err
	}
	ob, err := sqloutbox.New(db, outbox.Dialect(s.options.Store), sqloutbox.Config{})
	if err != nil {
		return nil, err
	}
	if err := ob.Migrate(ctx); err != nil {
		return nil, err
	}
	number := "BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY"
	if s.isFile() {
		number = "INTEGER PRIMARY KEY AUTOINCREMENT"
	}
	statements := strings.Split(strings.ReplaceAll(strings.TrimSpace(roles.SQLBooks), "@{autoincrement}", number), ";\n")
	for n := range s.options.Accounts {
		columns := map[string]string{"accounts": ", version) VALUES ('%s', %d, %d, 0)", "balances": ") VALUES ('%s', %d, %d)"}[accounts]
		statements = append(statements, fmt.Sprintf("INSERT INTO "+accounts+" (name, balance, opening"+columns, roles.Account(n), roles.Opening, roles.Opening))
	}
	return db, s.inOne(ctx, db, statements)
}

// inOne runs statements in one transaction.
func (s *sqlStore) inOne(ctx context.Context, db *sql.DB, statements []string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	return tx.Commit()
}

// onServer makes an empty database, and a user for each of its processes.
func (s *sqlStore) onServer(ctx context.Context, server, database string) (err error) {
	db, err := s.connect(server)
	if err != nil {
		return err
	}
	statements := []string{"CREATE DATABASE " + database}
	for _, m := range s.roster() {
		if databaseOf(m.role) == database {
			statements = append(statements, "CREATE USER '"+m.name+"'", "GRANT ALL ON "+database+".* TO '"+m.name+"'")
		}
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// connect opens a pool that is closed with the run.
func (s *sqlStore) connect(address string) (*sql.DB, error) {
	db, err := s.options.Extras.Open(s.options.Store, address, (&net.Dialer{}).DialContext)
	if err != nil {
		return nil, err
	}
	s.later(func() error { _ = db.Close(); return nil }) // an error is expected, since connections may be broken
	return db, nil
}

// forget does nothing: database/sql notices by itself.
func (s *sqlStore) forget() {}

func (s *sqlStore) isCommit(b []byte) bool { return faultnet.IsMySQLCommit(b) }

// strikes excludes the points of PostgreSQL's windows and partitions, which are never passed here.
func (s *sqlStore) strikes(d deed) bool {
	switch failpoint.Name(d.point) {
	case failpoint.RelayWindowOpened, failpoint.RelayBeforeFinishWindow, failpoint.RelayAdvanceAmbiguous,
		failpoint.RelayLatePositionWrite, failpoint.RelayDropWaits:
		return false
	default:
		return !s.isFile() || !isConnection(d)
	}
}

func (s *sqlStore) crash() serverFault {
	return serverFault{
		pointServer(s.options.Store), kindKill,
		[]string{roles.Relay, roles.Receipts, roles.Ledger, roles.Bank},
		s.restart(s.server, syscall.SIGKILL),
	}
}

// lines returns the faults of foreign transactions. A file has none: it has one writer at a time, so every
// writer waits for foreign transactions.
func (s *sqlStore) lines(in *injection) []serverFault {
	if s.isFile() {
		return nil
	}
	relays := []string{roles.Relay}
	return []serverFault{
		{pointTransaction, kindHeld, relays, in.foreign(s.hold)},
		{pointTransaction, kindPrepared, relays, in.foreign(s.prepare)},
	}
}

// hold begins a foreign transaction.
func (s *sqlStore) hold(ctx context.Context) (end func() error, err error) {
	tx, err := s.books.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO foreign_rows VALUES (1)"); err != nil {
		return nil, errors.Join(fmt.Errorf("hold: %w", err), tx.Rollback())
	}
	return tx.Rollback, nil
}
