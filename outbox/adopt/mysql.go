package adopt

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlfile"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

// mysqlServer adopts a table on MySQL or MariaDB. CREATE TRIGGER commits, so steps that belong
// together are done under LOCK TABLES, in an order in which a crash causes repeats and not
// losses.
type mysqlServer struct {
	db      *sql.DB
	dialect sqldialect.Dialect
	cfg     Config
	// sql maps the names of the embedded SQL files to their texts.
	sql map[string]string
	// trigger and all are the names of triggers that pass rows on. The one named all also shows that the pending rows have
	// been passed on.
	trigger, all string
}

func newMySQL(db *sql.DB, d sqldialect.Dialect, cfg Config) (*mysqlServer, error) {
	cfg.Outbox = cmp.Or(cfg.Outbox, "leat_outbox")
	switch {
	case cfg.Schema != "" || cfg.LeatSchema != "":
		return nil, outbox.ConfigError("Schema, LeatSchema", strconv.Quote(cfg.Schema)+", "+strconv.Quote(cfg.LeatSchema),
			"must be empty: both tables are in the database that connections of the pool begin in")
	case len(cfg.Table) > 64 || !storable(cfg.Table):
		return nil, outbox.ConfigError("Table", strconv.Quote(cfg.Table), "must be valid UTF-8 without NUL, of at most 64 bytes")
	case cfg.Table == cfg.Outbox:
		return nil, own(cfg.Table)
	}
	if err := sqldialect.CheckTable(cfg.Outbox); err != nil {
		return nil, outbox.ConfigError("Outbox", strconv.Quote(cfg.Outbox), err.Error())
	}
	m := &mysqlServer{db: db, dialect: d, cfg: cfg, trigger: "leat_adopt_" + mark(cfg.Table)}
	m.all = m.trigger + "_all"
	var err error
	m.sql, err = sqlfile.LoadAll(sqlFiles, func(sql string) (string, error) { return d.Render(cfg.Outbox, sql) },
		"trigger_mysql", "columns_mysql", "triggers_mysql", "lock_mysql", "insert_mysql", "insert_delayed_mysql")
	return m, err
}

func (m *mysqlServer) name() string { return backticked(m.cfg.Table) }

func backticked(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func (m *mysqlServer) columns(ctx context.Context) (found []column, err error) {
	err = sqlstore.Each(ctx, m.db, func(scan sqlstore.Scanner) error {
		var c column
		err := scan(&c.name, &c.nullable)
		found = append(found, c)
		return err
	}, m.sql["columns_mysql"], m.cfg.Table)
	if err == nil && len(found) == 0 {
		err = missing(m.name())
	}
	return found, err
}

// has is which of its triggers the table has, "" if it has none.
func (m *mysqlServer) has(ctx context.Context, q sqlstore.Querier) (string, error) {
	names, err := sqlstore.Column[string](ctx, q, m.sql["triggers_mysql"], m.trigger, m.all)
	if err != nil || len(names) == 0 {
		return "", err
	}
	return names[0], nil
}

func (m *mysqlServer) adopted(ctx context.Context) (bool, error) {
	name, err := m.has(ctx, m.db)
	return name != "", err
}

// fields are the typed expressions of a row NEW by their tokens, and their sources by the tokens
// with _source.
type fields map[string]string

// evaluate asks for the type of each expression, and refuses one that the table cannot evaluate.
func (m *mysqlServer) evaluate(ctx context.Context, q sqlstore.Querier) (fields, error) {
	columns, err := m.columns(ctx)
	if err != nil {
		return nil, err
	}
	f := fields{"key": "''", "type": "''", "time": "NULL", "not_before": "NULL", "object": ""}
	for _, token := range []string{"key", "type", "time", "not_before", "headers"} {
		f[token+"_source"] = literalMySQL(token)
	}
	var pairs []string
	for _, x := range m.cfg.expressions() {
		over, err := x.over(m.name(), columns, backticked)
		if err != nil {
			return nil, err
		}
		kind, err := m.kind(ctx, q, over)
		if err != nil {
			return nil, outbox.ConfigError(x.field, strconv.Quote(x.sql), err.Error())
		}
		if x.token == "id" {
			f["order"] = over // by its value, and not by its text
		}
		typed, err := x.typedMySQL(over, kind)
		if err != nil {
			return nil, err
		}
		token := x.token
		switch token {
		case "":
			name, _ := strconv.Unquote(strings.TrimSuffix(strings.TrimPrefix(x.field, "Headers["), "]"))
			pairs = append(pairs, literalMySQL(name), typed)
			continue
		case "headers_json":
			f["object"], token = typed, "headers"
		default:
			f[token] = typed
		}
		f[token+"_source"] = literalMySQL(token + " (" + x.source() + ")")
	}
	f.headers(pairs)
	return f, nil
}

// kind is the name of the type of an expression.
func (m *mysqlServer) kind(ctx context.Context, q sqlstore.Querier, expression string) (string, error) {
	rows, err := q.QueryContext(ctx, "SELECT "+expression+" FROM "+m.name()+" AS NEW LIMIT 0")
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	types, err := rows.ColumnTypes()
	if err != nil {
		return "", err
	}
	return types[0].DatabaseTypeName(), rows.Err()
}

// typedMySQL returns the expression converted to the type of its message field: bytes in UTF-8,
// or microseconds since 1970.
func (x expression) typedMySQL(sql, kind string) (string, error) {
	binary := strings.HasSuffix(kind, "BLOB") || strings.HasSuffix(kind, "BINARY")
	switch {
	case x.kind == texts || x.kind == bodies && !binary:
		if binary {
			return sql, nil
		}
		return "CONVERT(" + sql + " USING utf8mb4)", nil
	case x.kind == bodies:
		return sql, nil
	case x.kind == objects:
		return "CONVERT(" + sql + " USING utf8mb4)", nil
	case kind == "TIMESTAMP": // UNIX_TIMESTAMP does not depend on the time zone of the session
		return "CAST(UNIX_TIMESTAMP(" + sql + ") * 1000000 AS SIGNED)", nil
	case kind == "DATETIME":
		return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', " + sql + ")", nil
	default:
		return "", outbox.ConfigError(x.field, strconv.Quote(x.sql), "is of type "+kind+", and not a timestamp")
	}
}

// headers sets the expressions of an object of headers, and of its errors.
func (f fields) headers(pairs []string) {
	f["headers"], f["headers_problem"] = "NULL", "NULL"
	var parts []string
	if object := f["object"]; object != "" {
		reserved := []string{outbox.HeaderEventID, outbox.HeaderEventType, outbox.HeaderEventTime, outbox.HeaderKey, outbox.HeaderNotBefore, outbox.HeaderWatermillUUID}
		for i, name := range reserved {
			reserved[i] = literalMySQL(`$."` + name + `"`)
		}
		f["headers_problem"] = "CASE WHEN " + object + " IS NULL THEN NULL" +
			" WHEN NOT JSON_VALID(" + object + ") THEN CONCAT('is not JSON: ', LEFT(" + object + ", 64))" +
			" WHEN JSON_TYPE(" + object + ") = 'NULL' THEN NULL" +
			" WHEN JSON_TYPE(" + object + ") <> 'OBJECT' THEN CONCAT('must be an object: ', LEFT(" + object + ", 64))" +
			" WHEN JSON_CONTAINS_PATH(" + object + ", 'one', " + strings.Join(reserved, ", ") + ") THEN CONCAT('has a header that leat sets itself: ', LEFT(" + object + ", 64)) END"
		parts = append(parts, "CASE WHEN JSON_VALID("+object+") AND JSON_TYPE("+object+") = 'OBJECT' THEN "+object+" ELSE '{}' END")
	}
	if len(pairs) > 0 {
		parts = append(parts, "JSON_OBJECT("+strings.Join(pairs, ", ")+")")
	}
	if len(parts) > 0 {
		f["headers"] = "JSON_MERGE_PATCH('{}', " + strings.Join(parts, ", ") + ")" // without what is null
	}
}

// literalMySQL quotes a text for a session whose sql_mode is modeOfTrigger.
func literalMySQL(s string) string {
	return "'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(s) + "'"
}

// modeOfTrigger is the sql_mode that the trigger keeps, whatever its producers use: a value that
// does not fit is an error.
const modeOfTrigger = "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO'"

func (m *mysqlServer) script(f fields, trigger string) string {
	pairs := []string{"{trigger}", backticked(trigger), "{table}", m.name(), "{name}", literalMySQL(m.cfg.Table)}
	for token, expression := range f {
		pairs = append(pairs, "{"+token+"}", expression)
	}
	return strings.NewReplacer(pairs...).Replace(m.sql["trigger_mysql"])
}

func (m *mysqlServer) lock(more string) string {
	return strings.NewReplacer("{table}", m.name(), "{more}", more).Replace(m.sql["lock_mysql"])
}

// toOutbox are the locks of Adopt in addition to those of the table.
func (m *mysqlServer) toOutbox() string {
	return ", " + backticked(m.cfg.Outbox) + " WRITE, " + backticked(m.cfg.Outbox+"_delayed") + " WRITE"
}

// wanted returns the name of the trigger that belongs to this Config.
func (m *mysqlServer) wanted() string {
	if m.cfg.Pending != "" {
		return m.all
	}
	return m.trigger
}

func (m *mysqlServer) plan(ctx context.Context) (plan Plan, err error) {
	if plan.Adopted, err = m.adopted(ctx); err != nil {
		return plan, err
	}
	err = m.session(ctx, func(conn *sql.Conn) error {
		f, err := m.evaluate(ctx, conn)
		if err != nil {
			return err
		}
		plan.SQL = strings.Join([]string{
			m.lock(m.toOutbox()), "-- leat inserts the rows that are pending here", m.script(f, m.wanted()), "UNLOCK TABLES",
		}, ";\n\n") + ";\n"
		if m.cfg.Pending != "" && !plan.Adopted {
			err := m.pending(ctx, conn, f, func(msg outbox.Message) error {
				plan.Pending++
				if len(plan.First) < first {
					plan.First = append(plan.First, msg)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		if plan.Pending > 0 {
			return nil
		}
		return m.messages(ctx, conn, f, " LIMIT "+strconv.Itoa(first), func(msg outbox.Message, _ string) error {
			plan.First = append(plan.First, msg)
			return nil
		})
	})
	return plan, m.describe(err)
}

// adopt locks the table, writes the pending rows, and creates the trigger, which commits both. If
// it ends in between, the next call writes the pending rows again: they are repeated, and not
// lost. An existing trigger is dropped first, since it cannot be replaced: if adopt ends in
// between, rows inserted before the next call are pending.
func (m *mysqlServer) adopt(ctx context.Context) error {
	return m.describe(m.session(ctx, func(conn *sql.Conn) error {
		f, err := m.evaluate(ctx, conn)
		if err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, m.lock(m.toOutbox())); err != nil {
			return err
		}
		has, err := m.has(ctx, conn)
		if err != nil {
			return err
		}
		trigger := cmp.Or(has, m.wanted())
		if has == "" && m.cfg.Pending != "" {
			if err := m.take(ctx, conn, f); err != nil {
				return err
			}
		}
		if has != "" {
			if _, err := conn.ExecContext(ctx, "DROP TRIGGER "+backticked(has)); err != nil {
				return err
			}
		}
		if _, err := conn.ExecContext(ctx, m.script(f, trigger)); err != nil {
			return err
		}
		_, err = conn.ExecContext(ctx, "UNLOCK TABLES")
		return err
	}))
}

// take writes the rows that are pending into the outbox, whose tables are locked. The next
// statement commits them.
func (m *mysqlServer) take(ctx context.Context, conn *sql.Conn, f fields) error {
	var now, later []outbox.Message
	var clock int64
	if err := conn.QueryRowContext(ctx, "SELECT "+m.dialect.Now).Scan(&clock); err != nil {
		return err
	}
	err := m.pending(ctx, conn, f, func(msg outbox.Message) error {
		if !msg.NotBefore.IsZero() && msg.NotBefore.UnixMicro() > clock {
			later = append(later, msg)
		} else {
			now = append(now, msg)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "SET autocommit = 0"); err != nil {
		return err
	}
	log := &sqllog.Log{Store: &sqlstore.Store{SQL: sqlstore.Statements(m.sql)}}
	for _, part := range []struct {
		statement string
		msgs      []outbox.Message
	}{{"insert_mysql", now}, {"insert_delayed_mysql", later}} {
		rows, err := sqllog.RowsOf(part.msgs)
		if err != nil {
			return err
		}
		err = log.InsertRows(ctx, conn, part.statement, rows, func(i int) []any {
			if part.statement == "insert_mysql" {
				return nil
			}
			return []any{part.msgs[i].NotBefore.UnixMicro()}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// release marks the pending rows, if all are in the outbox, and drops the trigger.
func (m *mysqlServer) release(ctx context.Context) error {
	return m.describe(m.session(ctx, func(conn *sql.Conn) error {
		if _, err := conn.ExecContext(ctx, m.lock("")); err != nil {
			return err
		}
		has, err := m.has(ctx, conn)
		if err != nil || has == "" {
			return err
		}
		if has == m.all && m.cfg.Done != "" {
			//nolint:gosec // the name is quoted, and what is set is the operator's own SQL
			if _, err := conn.ExecContext(ctx, "UPDATE "+m.name()+" AS NEW SET "+m.cfg.Done+" WHERE "+m.cfg.Pending); err != nil {
				return err
			}
		}
		if _, err := conn.ExecContext(ctx, "DROP TRIGGER "+backticked(has)); err != nil {
			return err
		}
		_, err = conn.ExecContext(ctx, "UNLOCK TABLES")
		return err
	}))
}

// session calls do with a connection that is not reused afterwards: its locks go with it.
func (m *mysqlServer) session(ctx context.Context, do func(conn *sql.Conn) error) error {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		sqlstore.Discard(conn)
		_ = conn.Close()
	}()
	seconds := max(1, int(m.cfg.LockTimeout/time.Second))
	for _, set := range []string{modeOfTrigger, "SET SESSION autocommit = 1", "SET NAMES utf8mb4", "SET SESSION lock_wait_timeout = " + strconv.Itoa(seconds)} {
		if _, err := conn.ExecContext(ctx, set); err != nil {
			return err
		}
	}
	return do(conn)
}

// pending calls f with the message of each pending row, and refuses one that cannot be sent.
func (m *mysqlServer) pending(ctx context.Context, q sqlstore.Querier, f fields, do func(outbox.Message) error) error {
	order := m.cfg.Order
	if order == m.cfg.ID {
		order = f["order"]
	}
	return m.messages(ctx, q, f, " WHERE ("+m.cfg.Pending+") ORDER BY "+order, func(msg outbox.Message, problem string) error {
		_, err := outbox.Preparer{}.Prepare(ctx, []outbox.Message{msg})
		switch {
		case problem != "":
			err = errors.New("headers " + problem)
		case msg.ID == "":
			err = errors.New("id must not be NULL or empty")
		case msg.Payload == nil:
			err = errors.New("payload must not be NULL")
		}
		if err != nil {
			return fmt.Errorf("leat: a row of %s cannot be sent: row id %q: %w", m.cfg.Table, msg.ID, err)
		}
		return do(msg)
	})
}

// messages calls do with the messages of rows, and the errors of their headers.
func (m *mysqlServer) messages(ctx context.Context, q sqlstore.Querier, f fields, rest string, do func(outbox.Message, string) error) error {
	parts := make([]string, 0, 9)
	for _, token := range []string{"id", "topic", "key", "type", "payload", "headers", "headers_problem", "time", "not_before"} {
		parts = append(parts, f[token])
	}
	query := "SELECT " + strings.Join(parts, ", ") + " FROM " + m.name() + " AS NEW" + rest
	return sqlstore.Each(ctx, q, func(scan sqlstore.Scanner) error {
		var id, topic, key, kind, problem sql.NullString
		var payload, headers []byte
		var at, notBefore sql.NullInt64
		if err := scan(&id, &topic, &key, &kind, &payload, &headers, &problem, &at, &notBefore); err != nil {
			return err
		}
		msg := outbox.Message{
			ID: id.String, Topic: topic.String, Key: key.String, Type: kind.String, Payload: slices.Clone(payload),
			OccurredAt: sqlstore.Time(at.Int64), NotBefore: sqlstore.Time(notBefore.Int64),
		}
		msg.Headers = texted(headers)
		return do(msg, problem.String)
	}, query)
}

// texted are the members of an object as texts. A value that is not text becomes its JSON, as a
// relay reads it.
func texted(object []byte) map[string]string {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil || len(members) == 0 {
		return nil
	}
	all := make(map[string]string, len(members))
	for name, value := range members {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		all[name] = text
	}
	return all
}

// describe adds what a database error means in this context.
func (m *mysqlServer) describe(err error) error {
	switch sqldialect.Number(err) {
	case sqldialect.NoSuchTable:
		return fmt.Errorf("%w: %w", outbox.ErrNotMigrated, err)
	case sqldialect.LockWaitTimeout:
		return fmt.Errorf("%w: %w", errTableBusy, err)
	default:
		return err
	}
}
