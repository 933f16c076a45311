package main

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/testenv"
)

//go:embed sql
var statementFiles embed.FS

// databaseName is what -on calls a database.
type databaseName string

const (
	onPostgres databaseName = "postgres"
	onMySQL    databaseName = "mysql"
	onMariaDB  databaseName = "mariadb"
	onSQLite   databaseName = "sqlite"
)

func databaseNames() []databaseName {
	return []databaseName{onPostgres, onMySQL, onMariaDB, onSQLite}
}

// database is what the outboxes and inboxes of a run are in: the services that are built on
// leat's packages for it, and what the test bench needs of it.
type database interface {
	// ingest, relay and consume are the services.
	ingest(ctx context.Context, s settings) error
	relay(ctx context.Context, s settings) error
	consume(ctx context.Context, s settings) error

	// needs are the servers that it takes.
	needs() testenv.Needs
	// create makes an empty database, which st removes, and returns its address.
	create(ctx context.Context, st *stage, name string) (address string, err error)
	// migrate makes leat's tables.
	migrate(ctx context.Context, address string) error
	// open is how the test bench looks into a database.
	open(address string) (*sql.DB, error)
	// pending counts the events that no relay has settled.
	pending(ctx context.Context, db *sql.DB) (int64, error)
}

// database returns the database of a name, if this program was built for it.
func (n databaseName) database() (database, error) {
	if !slices.Contains(databaseNames(), n) {
		return nil, fmt.Errorf("-on %s: want one of %s", n, strings.Trim(fmt.Sprint(databaseNames()), "[]"))
	}
	if n == onPostgres {
		return postgres{}, nil
	}
	driver := n.driver()
	if !slices.Contains(sql.Drivers(), driver) {
		return nil, fmt.Errorf("-on %s: this program was built without the driver: go run -tags demo_%s ./quickstart -on %s",
			n, driver, n)
	}
	return sqlDatabase{n}, nil
}

// driver is the name of the driver in database/sql, and of the build tag that links it.
func (n databaseName) driver() string {
	if n == onMariaDB {
		return string(onMySQL)
	}
	return string(n)
}

// statement returns the SQL of a file.
func (n databaseName) statement(name string) (string, error) {
	raw, err := statementFiles.ReadFile("sql/" + n.driver() + "/" + name + ".sql")
	return strings.TrimSuffix(strings.TrimSpace(string(raw)), ";"), err
}

// slowFor is how long a slow transaction stays open. On SQLite all others wait for it.
func (n databaseName) slowFor() time.Duration {
	if n == onSQLite {
		return 20 * time.Millisecond
	}
	return 200 * time.Millisecond
}

func openProducerDB(s settings) (*sql.DB, error) { return openFor(s, s.ProducerDB) }

func openConsumerDB(s settings) (*sql.DB, error) { return openFor(s, s.ConsumerDB) }

func openFor(s settings, address string) (*sql.DB, error) {
	on, err := s.On.database()
	if err != nil {
		return nil, err
	}
	return on.open(address)
}

// chooseBroker lets a run on SQLite do with the broker in this process, if nobody has named
// another one: so nothing is fetched or started.
func (n databaseName) chooseBroker() error {
	if n != onSQLite || os.Getenv(testenv.EnvKafka) != "" {
		return nil
	}
	return os.Setenv(testenv.EnvKafka, "fake")
}
