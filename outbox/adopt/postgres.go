package adopt

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/sqlfile"
	"github.com/leat-go/leat/outbox"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// postgres adopts a table on PostgreSQL.
type postgres struct {
	pool   pgpin.Pool // the application's pool, with our settings
	cfg    Config
	table  pgmigrate.Names
	outbox pgmigrate.Names
	// sql are the texts of the embedded SQL files, before names and columns are filled in.
	sql struct{ adopt, take, row, check, release, finish, columns, adopted string }
}

func newPostgres(pool pgpin.Pool, cfg Config) (*postgres, error) {
	cfg.Schema = cmp.Or(cfg.Schema, "public")
	cfg.LeatSchema, cfg.Outbox = cmp.Or(cfg.LeatSchema, "leat"), cmp.Or(cfg.Outbox, "outbox")
	p := &postgres{
		pool: pool, cfg: cfg,
		table: pgmigrate.Names{Schema: cfg.Schema, Table: cfg.Table}, outbox: pgmigrate.Names{Schema: cfg.LeatSchema, Table: cfg.Outbox},
	}
	if err := p.table.Validate(); err != nil {
		return nil, outbox.ConfigError("Schema, Table", strconv.Quote(cfg.Schema)+", "+strconv.Quote(cfg.Table), err.Error())
	}
	err := p.outbox.Validate("_adopt_0123456789abcdef_enqueue")
	if err == nil && strings.ContainsAny(cfg.LeatSchema+cfg.Outbox, "{}") {
		err = fmt.Errorf("%w: braces", pgmigrate.ErrInvalidName)
	}
	if err != nil {
		return nil, outbox.ConfigError("LeatSchema, Outbox", strconv.Quote(cfg.LeatSchema)+", "+strconv.Quote(cfg.Outbox), err.Error())
	}
	if p.table == p.outbox {
		return nil, own(cfg.Table)
	}
	s := &p.sql
	return p, sqlfile.Load(sqlFiles, func(sql string) (string, error) { return p.outbox.Render(sql) }, map[string]*string{
		"adopt": &s.adopt, "take": &s.take, "row": &s.row, "check": &s.check, "release": &s.release, "finish": &s.finish,
		"columns": &s.columns, "adopted": &s.adopted,
	})
}

func (p *postgres) name() string { return p.table.Qualified("") }

func (p *postgres) columns(ctx context.Context) (found []column, err error) {
	rows, err := p.pool.Query(ctx, p.sql.columns, p.name())
	if err != nil {
		return nil, err
	}
	var c column
	_, err = pgx.ForEachRow(rows, []any{&c.name, &c.nullable}, func() error { found = append(found, c); return nil })
	if err == nil && len(found) == 0 {
		err = missing(p.name())
	}
	return found, err
}

func (p *postgres) adopted(ctx context.Context) (is bool, err error) {
	err = p.pool.QueryRow(ctx, p.sql.adopted, p.name()).Scan(&is)
	return is, err
}

func (p *postgres) adopt(ctx context.Context) error {
	var script string
	err := p.look(ctx, func(_ pgx.Tx, e evaluated) error {
		script = p.script(e)
		return nil
	})
	if err != nil {
		return err
	}
	return p.exec(ctx, script)
}

func (p *postgres) release(ctx context.Context) error {
	finish := ""
	if p.cfg.Done != "" {
		finish = p.sql.finish
	}
	return p.exec(ctx, p.fill(strings.ReplaceAll(p.sql.release, "{finish}", finish), evaluated{}))
}

// exec runs script in a transaction of its own.
func (p *postgres) exec(ctx context.Context, script string) error {
	err := pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		timeout := strconv.FormatInt(p.cfg.LockTimeout.Milliseconds(), 10)
		if _, err := tx.Exec(ctx, "SELECT set_config('lock_timeout', $1, true)", timeout); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol)
		return err
	})
	return describe(err)
}

// describe adds what a database error means in this context.
func describe(err error) error {
	switch {
	case pgerr.MissingObject(err) || pgerr.Is(err, pgerr.UndefinedFunction):
		return fmt.Errorf("%w: %w", outbox.ErrNotMigrated, err)
	case pgerr.Is(err, pgerr.LockNotAvailable):
		return fmt.Errorf("%w: %w", errTableBusy, err)
	default:
		return pgerr.Standby(err)
	}
}

// look calls do in a read-only transaction, with the expressions as the triggers evaluate them.
func (p *postgres) look(ctx context.Context, do func(tx pgx.Tx, e evaluated) error) error {
	columns, err := p.columns(ctx)
	if err != nil {
		return err
	}
	return pgx.BeginTxFunc(ctx, p.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL search_path = pg_catalog, pg_temp"); err != nil {
			return err
		}
		e, err := p.evaluate(ctx, tx, columns)
		if err != nil {
			return err
		}
		return do(tx, e)
	})
}

// evaluated are the typed expressions over a row NEW, by their tokens, with the sources that errors name.
type evaluated struct {
	sql     map[string]string
	sources []string
	order   string // the expression to order by: the id
}

// evaluate asks for the type of each expression, and refuses one that the table cannot evaluate.
func (p *postgres) evaluate(ctx context.Context, tx pgx.Tx, columns []column) (evaluated, error) {
	e := evaluated{sql: map[string]string{
		"key": "NULL::text", "type": "NULL::text", "time": "NULL::timestamptz", "not_before": "NULL::timestamptz", "headers": "NULL::jsonb",
	}}
	var pairs []string
	for _, x := range p.cfg.expressions() {
		sql, err := x.over(p.name(), columns, func(name string) string { return pgx.Identifier{name}.Sanitize() })
		if err != nil {
			return e, err
		}
		rows, err := tx.Query(ctx, "SELECT "+sql+" FROM "+p.name()+" AS NEW LIMIT 0")
		if err != nil {
			return e, outbox.ConfigError(x.field, strconv.Quote(x.sql), err.Error())
		}
		kinds := rows.FieldDescriptions()
		rows.Close()
		if err := rows.Err(); err != nil {
			return e, outbox.ConfigError(x.field, strconv.Quote(x.sql), err.Error())
		}
		if x.token == "id" {
			e.order = sql // order by the id's value, not by its text
		}
		sql, err = x.typed(sql, kinds[0].DataTypeOID)
		if err != nil {
			return e, err
		}
		if x.token == "" {
			name, _ := strconv.Unquote(strings.TrimSuffix(strings.TrimPrefix(x.field, "Headers["), "]"))
			pairs = append(pairs, literal(name), sql)
			continue
		}
		e.sql[x.token] = sql
		word := map[string]string{"time": "occurred_at", "headers_json": "headers"}
		e.sources = append(e.sources, "WHEN "+literal(cmp.Or(word[x.token], x.token))+" THEN "+literal(x.source()))
	}
	e.sql["headers"] = headers(e.sql["headers_json"], pairs)
	return e, nil
}

// typed returns the expression converted to the type of its message field.
func (x expression) typed(sql string, oid uint32) (string, error) {
	switch {
	case x.kind == texts:
		return sql + "::text", nil
	case x.kind == objects && oid == pgtype.JSONBOID:
		return sql, nil
	case x.kind == objects && (oid == pgtype.JSONOID || oid == pgtype.TextOID || oid == pgtype.VarcharOID):
		return sql + "::jsonb", nil
	case x.kind == objects:
		return "", outbox.ConfigError(x.field, strconv.Quote(x.sql), "is of another type than json, jsonb or text")
	case x.kind == bodies && oid == pgtype.ByteaOID:
		return sql, nil
	case x.kind == bodies:
		return "convert_to(" + sql + "::text, 'UTF8')", nil
	case oid == pgtype.TimestamptzOID:
		return sql, nil
	case oid == pgtype.TimestampOID:
		return "(" + sql + " AT TIME ZONE 'UTC')", nil
	default:
		return "", outbox.ConfigError(x.field, strconv.Quote(x.sql), "is of another type than a timestamp")
	}
}

// headers is the expression of a jsonb object of texts: first the members of an object, then
// other headers. A value that is not an object is passed on, and refused later.
func headers(object string, pairs []string) string {
	all := ""
	if object != "" {
		all = "nullif(" + object + ", 'null')"
		all = "CASE WHEN jsonb_typeof(" + all + ") = 'object' THEN (SELECT jsonb_object_agg(leat_h.n, leat_h.v) FROM jsonb_each_text(" +
			object + ") AS leat_h(n, v) WHERE leat_h.v IS NOT NULL) ELSE " + all + " END"
	}
	const most = 50 // pairs in one call
	for len(pairs) > 0 {
		n := min(len(pairs), 2*most)
		some := "jsonb_strip_nulls(jsonb_build_object(" + strings.Join(pairs[:n], ", ") + "))"
		if all == "" {
			all = some
		} else {
			all = "coalesce(" + all + ", '{}') || " + some
		}
		pairs = pairs[n:]
	}
	if all == "" {
		return "NULL::jsonb"
	}
	return "(" + all + ")"
}

// declarations are the variables of row.sql.
const declarations = `    leat_id text; leat_topic text; leat_key text; leat_type text; leat_payload bytea; leat_headers jsonb;
    leat_time timestamptz; leat_not_before timestamptz; leat_field text; leat_reason text;`

// script is the SQL of Adopt.
func (p *postgres) script(e evaluated) string {
	take := ""
	if p.cfg.Pending != "" {
		take = p.sql.take
	}
	return p.fill(strings.ReplaceAll(p.sql.adopt, "{take}", take), e)
}

// fill replaces the placeholders {…} by the table's names and its expressions.
func (p *postgres) fill(sql string, e evaluated) string {
	m := mark(p.name())
	enqueue := p.outbox.Qualified("_adopt_" + m + "_enqueue")
	order := p.cfg.Order
	if order == p.cfg.ID {
		order = e.order
	}
	pairs := []string{
		"{note}", p.outbox.Qualified("_adopt_" + m + "_note"), "{enqueue}", enqueue, "{enqueue_text}", literal(enqueue),
		"{setting}", literal("leat.adopt_" + m), "{table}", p.name(), "{name}", literal(p.name()),
		"{declare}", declarations, "{sources}", strings.Join(e.sources, " ") + " ELSE leat_field",
		"{pending}", "(" + cmp.Or(p.cfg.Pending, "true") + ")", "{order}", order, "{done}", p.cfg.Done,
	}
	for token, expression := range e.sql {
		pairs = append(pairs, "{"+token+"}", expression)
	}
	return strings.NewReplacer(pairs...).Replace(strings.ReplaceAll(sql, "{row}", p.sql.row))
}

const first = 3 // number of messages that a Plan shows

func (p *postgres) plan(ctx context.Context) (plan Plan, err error) {
	if plan.Adopted, err = p.adopted(ctx); err != nil {
		return plan, err
	}
	err = p.look(ctx, func(tx pgx.Tx, e evaluated) error {
		plan.SQL = p.script(e)
		if p.cfg.Pending != "" && !plan.Adopted {
			err := tx.QueryRow(ctx, p.fill("SELECT count(*) FROM {table} AS NEW WHERE {pending}", e)).Scan(&plan.Pending)
			if err != nil {
				return outbox.ConfigError("Pending", strconv.Quote(p.cfg.Pending), err.Error())
			}
			if _, err := tx.Exec(ctx, p.fill(p.sql.check, e), pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
		}
		where := " WHERE {pending} ORDER BY {order}"
		if plan.Pending == 0 {
			where = "" // any rows: sorting all of a large table is not worth it
		}
		plan.First, err = p.messages(ctx, tx, p.fill(
			"SELECT {id}, {topic}, {key}, {type}, {payload}, {headers}::text, {time}, {not_before} FROM {table} AS NEW"+where+
				" LIMIT "+strconv.Itoa(first), e))
		return err
	})
	return plan, describe(err)
}

// messages returns the messages of rows.
func (p *postgres) messages(ctx context.Context, tx pgx.Tx, sql string) ([]outbox.Message, error) {
	rows, err := tx.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (outbox.Message, error) {
		var m outbox.Message
		var id, topic, key, kind, headers *string
		var at, notBefore *time.Time
		if err := row.Scan(&id, &topic, &key, &kind, &m.Payload, &headers, &at, &notBefore); err != nil {
			return m, err
		}
		m.ID, m.Topic, m.Key, m.Type = or(id), or(topic), or(key), or(kind)
		m.OccurredAt, m.NotBefore = or(at), or(notBefore)
		if headers != nil {
			// Messages of a row that would be refused are not shown.
			_ = json.Unmarshal([]byte(*headers), &m.Headers)
		}
		return m, nil
	})
}

// or returns what p points to, or the zero value.
func or[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
