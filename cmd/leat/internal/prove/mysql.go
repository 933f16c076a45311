package prove

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// SQLServer is a MySQL or MariaDB database, or a server that speaks its protocol.
type SQLServer interface {
	Dialect() outbox.Dialect
	// Dialler opens connections in the same way as those of the database.
	Dialler() func(ctx context.Context, network, address string) (net.Conn, error)
	// Another opens the database once more.
	Another(dial func(ctx context.Context, network, address string) (net.Conn, error)) (*sql.DB, error)
}

// mysql is a MySQL or MariaDB database.
type mysql struct {
	sqlPlace

	server sqldialect.Dialect
	wires  prover.Wires
}

// MySQL tries a MySQL or MariaDB database. Its scratch place is a set of tables in that database.
func MySQL(db SQLServer) (prover.Server, error) {
	server, err := sqldialect.Of(db.Dialect())
	if err != nil {
		return nil, err
	}
	m := &mysql{server: server}
	m.dialect = db.Dialect()
	m.open = func(w *prover.Wires) (*sql.DB, error) { return db.Another(w.Through(m.wires.Through(db.Dialler()))) }
	return m, nil
}

// About implements prover.Server.
func (m *mysql) About(ctx context.Context) string {
	about := "unknown"
	_ = m.use(ctx, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT CONCAT(@@version, ', ', @@version_comment)").Scan(&about)
	})
	return about
}

// use runs do on one connection.
func (m *mysql) use(_ context.Context, do func(db *sql.DB) error) error {
	var mine prover.Wires
	db, err := m.pool(&mine, 1)
	if err != nil {
		return err
	}
	return errors.Join(do(db), db.Close())
}

// deniedNumbers are the error numbers for missing privileges.
var deniedNumbers = []int{1044, 1045, 1142, 1143, 1227, 1370} //nolint:gochecknoglobals // never changed

// Prepare implements prover.Server.
func (m *mysql) Prepare(ctx context.Context) error {
	return m.use(ctx, func(db *sql.DB) error {
		var now int64
		if err := db.QueryRowContext(ctx, "SELECT UNIX_TIMESTAMP()").Scan(&now); err != nil {
			return err
		}
		names, err := scratchTables(ctx, db, prover.Prefix)
		if err != nil {
			return err
		}
		for _, name := range names {
			if scratchName.MatchString(name) && prover.Stale(name, now) {
				_ = dropTable(ctx, db, name) // another run may be sweeping
			}
		}
		m.name = fmt.Sprintf("%s%d_%s", prover.Prefix, now, prover.Unique())
		_, err = db.ExecContext(ctx, m.sql("CREATE TABLE {s}_began (id INT NOT NULL PRIMARY KEY)"))
		if number := sqldialect.Number(err); number == 1142 || number == 1044 {
			return fmt.Errorf("scratch tables are needed: GRANT CREATE, DROP, INDEX, ALTER, SELECT, INSERT, UPDATE, DELETE on the database: %w", err)
		}
		return err
	})
}

// scratchTables returns the tables whose names have the prefix begin.
func scratchTables(ctx context.Context, db *sql.DB, begin string) (names []string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		if strings.HasPrefix(name, begin) {
			names = append(names, name)
		}
	}
	return names, rows.Err()
}

// dropTable drops a table. It waits a little for sessions that the server has yet to end.
func dropTable(ctx context.Context, db *sql.DB, name string) error {
	if _, err := db.ExecContext(ctx, "SET SESSION lock_wait_timeout = 1"); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, "DROP TABLE IF EXISTS `"+name+"`")
	return err
}

// Clean implements prover.Server. The server may still be creating a table for a connection that was cut,
// so Clean goes on until it finds none.
func (m *mysql) Clean(ctx context.Context) error {
	m.wires.CutAll(false)
	if m.name == "" {
		return nil
	}
	defer m.wires.CutAll(true)
	for {
		none := false
		err := m.use(ctx, func(db *sql.DB) error {
			names, err := scratchTables(ctx, db, m.name)
			for _, name := range names {
				err = errors.Join(err, dropTable(ctx, db, name))
			}
			none = len(names) == 0
			return err
		})
		if err == nil && none || wait.For(ctx, 100*time.Millisecond) != nil {
			if err != nil {
				err = fmt.Errorf("tables %s_… are left behind: drop them, or let a run do it in an hour: %w", m.name, err)
			}
			return err
		}
	}
}
