package outbox

// Dialect names the database behind a *sql.DB, for the stores that work on any driver. It lives
// here because a program that has an outbox and an inbox uses it for both.
type Dialect string

const (
	// MySQL is MySQL 8.0 or later, on InnoDB.
	MySQL Dialect = "mysql"
	// MariaDB is MariaDB 10.6 or later, on InnoDB.
	MariaDB Dialect = "mariadb"
	// SQLite is SQLite 3.35 or later, in a file.
	SQLite Dialect = "sqlite"
)
