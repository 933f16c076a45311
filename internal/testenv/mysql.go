package testenv

import (
	"context"
	"errors"
	"testing"
)

// mysqlFlavor is one of the two families of servers that speak MySQL's protocol.
type mysqlFlavor struct {
	kind Kind
	// name is the family's in words.
	name string
	// env is the variable that holds an address.
	env string
	// fetched is the package that a server comes from if none is installed.
	fetched debianPackage
	// programs are the server's names, best first.
	programs []string
	// initialize returns the commands that fill a data directory.
	initialize func(b mysqlBinaries, data string) [][]string
	// settings are what servers of the family need beyond those of both.
	settings map[string]string
}

// flavorOf returns the family of a kind.
func flavorOf(kind Kind) mysqlFlavor {
	if kind == KindMariaDB {
		return mariadb()
	}

	return mysql()
}

func mysql() mysqlFlavor {
	return mysqlFlavor{
		kind: KindMySQL,
		name: "MySQL",
		env:  EnvMySQL,
		// Stable releases of Debian have no MySQL.
		fetched:    debianPackage{suite: "sid", name: "mysql-server-core"},
		programs:   []string{"mysqld"},
		initialize: initializeMySQL,
		settings:   map[string]string{"mysqlx": "0"},
	}
}

func mariadb() mysqlFlavor {
	return mysqlFlavor{
		kind:       KindMariaDB,
		name:       "MariaDB",
		env:        EnvMariaDB,
		fetched:    debianPackage{suite: "bookworm", name: "mariadb-server-core"},
		programs:   []string{"mariadbd", "mysqld"},
		initialize: initializeMariaDB,
	}
}

// MySQLServer is a server that tests share. Each test makes databases of its own on
// it, whose names start with [DatabasePrefix], and drops them.
type MySQLServer struct {
	// URL is its address, such as mysql://root@127.0.0.1:3306/.
	URL string
	// Version is the version that the server reports, such as "9.7.4".
	Version string
}

// DatabasePrefix starts the names of databases that tests make.
const DatabasePrefix = databasePrefix

// MySQL returns the shared server. If there is none the test is skipped, in CI it
// fails.
func MySQL(tb testing.TB) MySQLServer {
	tb.Helper()

	return useMySQL(tb, KindMySQL)
}

// MariaDB is [MySQL] with MariaDB.
func MariaDB(tb testing.TB) MySQLServer {
	tb.Helper()

	return useMySQL(tb, KindMariaDB)
}

func useMySQL(tb testing.TB, kind Kind) MySQLServer {
	tb.Helper()
	if _, err := shared.service(context.Background(), kind); errors.Is(err, ErrUnavailable) {
		Available(tb, err)
	}
	service := use(tb, kind)

	return MySQLServer{URL: service.Address, Version: service.Version}
}

// NewDatabaseName returns a name for a database that no other test has.
func NewDatabaseName(hint string) string { return newDatabaseName(hint) }
