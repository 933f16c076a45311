package mysqlbinlog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-sql-driver/mysql"
)

// Check reports whether the server has a binary log of rows that the user may read. Run checks
// this each time that it connects; call Check if the program should fail at the start rather than
// poll.
func (b *Bell) Check(ctx context.Context) error {
	_, err := b.look(ctx)
	return err
}

// start is where a connection begins to read, and the tables that it looks for.
type start struct {
	tables map[table]bool
	flavor string
	gtid   gomysql.GTIDSet  // on MariaDB, where it can be read without privileges
	file   gomysql.Position // on MySQL
}

// lookTimeout bounds a look: a server can accept a connection and never answer.
const lookTimeout = 30 * time.Second

// look checks the server, and returns the end of its binary log.
func (b *Bell) look(ctx context.Context) (*start, error) {
	connector, err := mysql.NewConnector(b.server)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	var version, format string
	var on bool
	if err := db.QueryRowContext(ctx, "SELECT VERSION(), @@log_bin, @@GLOBAL.binlog_format").Scan(&version, &on, &format); err != nil {
		return nil, fmt.Errorf("leat: look at the server of the binary log: %w", err)
	}
	switch {
	case !on:
		return nil, errors.New("leat: log_bin is OFF, want ON: the server writes no binary log")
	case format != "ROW":
		return nil, fmt.Errorf("leat: binlog_format is %s, want ROW: what it logs otherwise names no table", format)
	}
	tables, err := b.known(ctx, db)
	if err != nil {
		return nil, err
	}
	at := &start{tables: tables}
	if strings.Contains(version, "MariaDB") {
		return at, at.mariaDB(ctx, db)
	}
	return at, at.mySQL(ctx, db)
}

// known returns the tables as the server writes them, which can differ from Tables by case
// (lower_case_table_names). It returns an error for the first one that the user cannot see.
func (b *Bell) known(ctx context.Context, db *sql.DB) (map[table]bool, error) {
	all := make(map[table]bool, len(b.cfg.Tables))
	for _, name := range b.cfg.Tables {
		var t table
		err := db.QueryRowContext(ctx, `SELECT table_schema, table_name FROM information_schema.tables
			WHERE table_schema = DATABASE() AND table_name = ?`, name).Scan(&t.database, &t.name)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil, fmt.Errorf("leat: table %s is not in database %s, or the user has no right on it", name, b.server.DBName)
		case err != nil:
			return nil, fmt.Errorf("leat: look for table %s: %w", name, err)
		}
		all[t] = true
	}
	return all, nil
}

func (s *start) mariaDB(ctx context.Context, db *sql.DB) error {
	var position string
	if err := db.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_binlog_pos").Scan(&position); err != nil {
		return fmt.Errorf("leat: look for the end of the binary log: %w", err)
	}
	gtid, err := gomysql.ParseMariadbGTIDSet(position)
	if err != nil {
		return fmt.Errorf("leat: read @@gtid_binlog_pos %q: %w", position, err)
	}
	s.flavor, s.gtid = gomysql.MariaDBFlavor, gtid
	return nil
}

// mySQL asks for a position in a file: GTIDs only exist if gtid_mode is ON.
func (s *start) mySQL(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, "SHOW BINARY LOG STATUS")
	if old := new(mysql.MySQLError); errors.As(err, &old) && old.Number == gomysql.ER_PARSE_ERROR {
		rows, err = db.QueryContext(ctx, "SHOW MASTER STATUS") // before 8.2
	}
	if err != nil {
		return fmt.Errorf("leat: look for the end of the binary log: %w", err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil || !rows.Next() {
		return fmt.Errorf("leat: the server names no end of its binary log: %w", errors.Join(err, rows.Err()))
	}
	s.flavor = gomysql.MySQLFlavor
	into := make([]any, len(columns)) // the first two of five, by their order in all versions
	for i := range into {
		into[i] = new(sql.RawBytes)
	}
	into[0], into[1] = &s.file.Name, &s.file.Pos
	if err := rows.Scan(into...); err != nil {
		return fmt.Errorf("leat: read the end of the binary log: %w", err)
	}
	return nil
}
