package chaos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

func (s *sqlStore) acts(in *injection) []act {
	back, emptied := act{"history", "put-back", in.putBackInPlace(s)}, act{"log", "emptied", in.emptiedInPlace(s)}
	if s.isFile() {
		return append(in.ownClockActs(), back, emptied, act{"records", "hostile", in.recordsHostile(roles.KindHostile, roles.KindTextTime)})
	}
	return slices.Concat(in.clockActs(), in.ownClockActs(), []act{
		back, emptied,
		{"records", "hostile", in.recordsHostile(roles.KindHostile)},
		{"settings", "changed", in.settingsChanged(s.changes()...)},
		{"splitter", "stale-reader", in.staleReader(s)},
	})
}

// changes are settings that administrators change for all new sessions.
func (s *sqlStore) changes() []change {
	const level = "SET GLOBAL TRANSACTION ISOLATION LEVEL "
	mode := func(value string) change {
		return change{"sql_mode = " + value, "sql_mode", s.running("SET GLOBAL sql_mode = " + value), s.running("SET GLOBAL sql_mode = DEFAULT")}
	}
	return []change{
		mode("''"),
		mode("'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,PIPES_AS_CONCAT'"),
		{"READ UNCOMMITTED", "isolation", s.running(level + "READ UNCOMMITTED"), s.running(level + "REPEATABLE READ")},
		{"sql_select_limit", "sql_select_limit", s.running("SET GLOBAL sql_select_limit = 2"), s.running("SET GLOBAL sql_select_limit = DEFAULT")},
		{"init_connect", "autocommit", s.running("SET GLOBAL init_connect = 'SET autocommit = 0'"), s.running("SET GLOBAL init_connect = ''")},
		{"time_zone", "time_zone", s.running("SET GLOBAL time_zone = '+05:45'"), s.running("SET GLOBAL time_zone = DEFAULT")},
	}
}

// running returns a function that runs a statement on the server.
func (s *sqlStore) running(statement string) func(context.Context) error {
	return func(ctx context.Context) error {
		if _, err := s.books.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
		return nil
	}
}

func (s *sqlStore) setMaxLag(ctx context.Context, req admin.MaxLagRequest) error {
	ob, err := s.outbox(s.books)
	if err != nil {
		return err
	}
	return ob.Admin().SetMaxLag(ctx, req)
}

// disconnect ends all sessions of processes. It retries if it cannot list them: MySQL cannot show
// statements that contain certain bytes.
func (s *sqlStore) disconnect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	const list = "SELECT id FROM information_schema.processlist WHERE user LIKE '%-_' LIMIT 100000"
	ids, err := s.column(ctx, list)
	for err != nil && wait.Full(ctx, 10*time.Millisecond) {
		ids, err = s.column(ctx, list)
	}
	if err != nil {
		return err
	}
	for _, id := range ids {
		_, _ = s.books.ExecContext(ctx, "KILL "+id) // the session may have ended
	}
	return nil
}

// column returns the values of a query's only column.
func (s *sqlStore) column(ctx context.Context, query string) (values []string, err error) {
	rows, err := s.books.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%.60s: %w", query, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			return nil, fmt.Errorf("%.60s: %w", query, err)
		}
		values = append(values, value)
	}
	return values, rows.Err()
}

func (s *sqlStore) newest(ctx context.Context, from string) (id string, err error) {
	err = s.books.QueryRowContext(ctx, `
		SELECT id FROM transfers WHERE amount > 0 AND account LIKE 'account-%' AND id >= ? ORDER BY id DESC LIMIT 1`, from).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// arrived searches only recent effects, since effects have no index by id.
func (s *sqlStore) arrived(ctx context.Context, ids []string) (there bool, err error) {
	if len(ids) == 0 {
		return false, nil
	}
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	return there, s.effects.QueryRowContext(ctx, `
		SELECT EXISTS (SELECT 1 FROM effects WHERE no > (SELECT MAX(no) - 20000 FROM effects) AND id IN (?`+
		strings.Repeat(", ?", len(ids)-1)+`))`, args...).Scan(&there)
}

func (s *sqlStore) booked(ctx context.Context, key string) (n int64, err error) {
	return n, s.books.QueryRowContext(ctx, "SELECT COUNT(*) FROM transfers WHERE account LIKE ?", key+"%").Scan(&n)
}

func (s *sqlStore) toSend(ctx context.Context) (int64, error) { return s.unsettled(s.books)(ctx) }

func (s *sqlStore) unsent(ctx context.Context, key string) (n int64, err error) {
	where, err := unread(ctx, s.books)
	if err != nil {
		return 0, err
	}
	begins := "SUBSTR(msg_key, 1, " + strconv.Itoa(len(key)) + ") = ?"
	return n, s.books.QueryRowContext(ctx, `
		SELECT (SELECT COUNT(*) FROM leat_outbox WHERE shard >= 0 AND `+begins+` AND (`+where+`))
		     + (SELECT COUNT(*) FROM leat_outbox_held WHERE `+begins+`)`, []byte(key), []byte(key)).Scan(&n)
}

func (s *sqlStore) rebase(ctx context.Context, role string) error {
	ob, err := s.outbox(s.databaseOf(role))
	if err != nil {
		return err
	}
	return ob.Rebase(ctx, sqloutbox.RebaseRequest{By: admin.By{Actor: "operator", Reason: wentBack}})
}

// copied is the prefix of the names of copied tables.
const copied = "copy_"

// copyRecent is the greatest age of the transfers that are copied. No transaction takes that long.
const copyRecent = time.Minute

// kept returns the tables of the bank that are copied as a whole. Those of locks are left out, since they
// never change.
func (s *sqlStore) kept(ctx context.Context) ([]string, error) {
	query := "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
	if s.isFile() {
		query = "SELECT table_name FROM (SELECT name AS table_name FROM sqlite_master WHERE type = 'table') AS t WHERE 1 = 1"
	}
	return s.column(ctx, query+" AND (table_name LIKE 'leat%' AND table_name NOT LIKE '%locks' OR table_name IN ('accounts', 'sqlite_sequence'))")
}

// copyBooks copies the relevant part of the bank's database into other tables of it. All copies show the
// same moment.
func (s *sqlStore) copyBooks(ctx context.Context) error {
	tables, err := s.kept(ctx)
	if err != nil {
		return err
	}
	since := fmt.Sprintf("%012x", time.Now().Add(-copyRecent).UnixMilli())
	recent := "SELECT id FROM transfers WHERE id >= '" + since[:8] + "-" + since[8:] + "'"
	var before, copies []string
	locks := []string{"transfers READ", copied + "transfers WRITE"}
	for _, table := range tables {
		locks = append(locks, table+" READ", copied+table+" WRITE")
		before = append(before, "DROP TABLE IF EXISTS "+copied+table)
		if s.isFile() {
			copies = append(copies, "CREATE TABLE "+copied+table+" AS SELECT * FROM "+table)
			continue
		}
		before = append(before, "CREATE TABLE "+copied+table+" LIKE "+table)
		copies = append(copies, "INSERT INTO "+copied+table+" SELECT * FROM "+table)
	}
	before = append(before, "DROP TABLE IF EXISTS "+copied+"transfers",
		"CREATE TABLE "+copied+"transfers (id VARCHAR(64) NOT NULL PRIMARY KEY)")
	copies = append(copies, "INSERT INTO "+copied+"transfers "+recent)
	if s.isFile() {
		return s.onConn(ctx, append(append(before, "BEGIN IMMEDIATE"), append(copies, "COMMIT")...))
	}
	return s.onConn(ctx, append(append(before, "LOCK TABLES "+strings.Join(locks, ", ")), append(copies, "UNLOCK TABLES")...))
}

// restoreBooks replaces the current state with the copy. All tables that relays read are replaced in one
// transaction or statement. Like a restored file or dump, it also sets the numbers back. The bank must be
// held.
func (s *sqlStore) restoreBooks(ctx context.Context) error {
	tables, err := s.kept(ctx)
	if err != nil {
		return err
	}
	forget := "DELETE FROM transfers WHERE id >= (SELECT MIN(id) FROM " + copied + "transfers) AND id NOT IN (SELECT id FROM " + copied + "transfers)"
	if s.isFile() {
		statements := []string{"BEGIN IMMEDIATE", forget}
		for _, table := range tables {
			statements = append(statements, "DELETE FROM "+table, "INSERT INTO "+table+" SELECT * FROM "+copied+table)
		}
		return s.onConn(ctx, append(statements, "COMMIT"))
	}
	var renames, drops []string
	for _, table := range tables {
		renames = append(renames, table+" TO old_"+table, copied+table+" TO "+table)
		drops = append(drops, "DROP TABLE old_"+table)
	}
	return s.onConn(ctx, append([]string{forget, "RENAME TABLE " + strings.Join(renames, ", ")}, drops...))
}

// emptyLog empties the bank's log, including the row that identifies it. The counter goes on, since
// records that were set aside keep their numbers.
func (s *sqlStore) emptyLog(ctx context.Context) error {
	if s.isFile() {
		return s.onConn(ctx, []string{"DELETE FROM leat_outbox"})
	}
	last, err := s.column(ctx, "SELECT MAX(seq) + 1 FROM leat_outbox")
	if err != nil {
		return err
	}
	return s.onConn(ctx, []string{"TRUNCATE TABLE leat_outbox", "ALTER TABLE leat_outbox AUTO_INCREMENT = " + last[0]})
}

// onConn runs statements on one connection, and closes it.
func (s *sqlStore) onConn(ctx context.Context, statements []string) error {
	conn, err := s.books.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer discard(conn)
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	return nil
}
