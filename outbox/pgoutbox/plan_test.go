package pgoutbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// million returns a template with a log of a million rows, two per transaction: row i has xid 1000 + i/2.
// Its statistics are those of the first hundred thousand rows.
func million(t *testing.T) testenv.Template {
	t.Helper()
	return testenv.Template{Name: "million", Version: schemaVersion() + "1", Apply: func(ctx context.Context, url string) error {
		if err := migrate(ctx, url); err != nil {
			return err
		}
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		const insert = `INSERT INTO leat.outbox (xid, seq, id, shard, topic, key, payload) OVERRIDING SYSTEM VALUE
			SELECT (1000 + i/2)::text::xid8, i, gen_random_uuid(), i % 64, 'events', 'key-' || i % 1000, '\x00112233445566778899aabbccddeeff'
			FROM generate_series($1::int, $2::int) i`
		for _, step := range []struct {
			sql  string
			args []any
		}{
			{sql: "ALTER TABLE leat.outbox_p1 SET (autovacuum_enabled = false)"},
			{insert, []any{1, 100_000}},
			{sql: "ANALYZE leat.outbox"},
			{insert, []any{100_001, 1_000_000}},
		} {
			if _, err := conn.Exec(ctx, step.sql, step.args...); err != nil {
				return err
			}
		}
		return nil
	}}
}

// snapshotAt returns a snapshot that sees all rows up to row, except those of the transactions in
// underway.
func snapshotAt(row int, underway ...int) string {
	xmax := 1000 + row/2 + 1
	xmin, xip := xmax, make([]string, len(underway))
	for i, x := range underway {
		xmin, xip[i] = min(xmin, x), strconv.Itoa(x)
	}
	return fmt.Sprintf("%d:%d:%s", xmin, xmax, strings.Join(xip, ","))
}

// many returns the xids of a burst of transactions near the end of the log.
func many() []int {
	var xids []int
	for i := range 100 {
		xids = append(xids, 490_000+i*7)
	}
	return xids
}

// page describes one page of one window.
type page struct {
	statement string
	args      []any
	rows      int // that it returns
	buffers   int // that it may touch
}

const pageSize = 5000

func pagesOfMillion() map[string]page {
	const hoursOld = 2000 // under way since row 2,000
	const all = 1_000_000
	return map[string]page{
		"steady":                 {"page", []any{snapshotAt(999_000), snapshotAt(all), 998_900, pageSize}, 999, 100},
		"backlog":                {"page", []any{snapshotAt(100_000), snapshotAt(all), 100_000, pageSize}, pageSize, 400},
		"backlog from the start": {"page", []any{"3:3:", snapshotAt(all), 0, pageSize}, pageSize, 400},
		"steady, an hours-old transaction": {
			"page", []any{snapshotAt(999_000, hoursOld), snapshotAt(all, hoursOld), 998_900, pageSize}, 999, 100,
		},
		"backlog, an hours-old transaction": {
			"page", []any{snapshotAt(500_000, hoursOld), snapshotAt(all, hoursOld), 500_000, pageSize}, pageSize, 400,
		},
		"nothing": {"page", []any{snapshotAt(all), snapshotAt(all), all, pageSize}, 0, 20},
		"early: one of two has ended": {
			"page_early", []any{snapshotAt(999_000, hoursOld, 490_000), snapshotAt(all, hoursOld), 0, 999_000, pageSize}, 2, 40,
		},
		"early: the hours-old one has ended": {
			"page_early", []any{snapshotAt(999_000, hoursOld), snapshotAt(all), 0, 999_000, pageSize}, 2, 40,
		},
		"early: none has ended": {
			"page_early", []any{snapshotAt(999_000, hoursOld), snapshotAt(all, hoursOld), 0, 999_000, pageSize}, 0, 10,
		},
		"early: a hundred have ended": {
			"page_early", []any{snapshotAt(999_000, many()...), snapshotAt(all), 0, 999_000, pageSize}, 200, 2000,
		},
		"early: the rest of a page": {
			"page_early", []any{snapshotAt(999_000, many()...), snapshotAt(all), 978_500, 999_000, 10}, 10, 2000,
		},
	}
}

// statistics returns the kinds of statistics that the planner may have about the log of a million rows, in
// the order in which the tests produce them.
func statistics() []string { return []string{"stale", "no", "fresh"} }

// know gives the planner statistics of that kind.
func know(t *testing.T, db *testenv.Database, statistics string) {
	t.Helper()
	switch statistics {
	case "no": // as after a burst, before the first ANALYZE
		exec(t, db, "DELETE FROM pg_statistic WHERE starelid = 'leat.outbox_p1'::regclass")
		exec(t, db, "UPDATE pg_class SET reltuples = -1, relpages = 0, relallvisible = 0 WHERE oid = 'leat.outbox_p1'::regclass")
	case "fresh":
		exec(t, db, "ANALYZE leat.outbox")
	default: // as the template is
	}
}

// TestO11_Plans reads pages of windows on a million rows, as prepared statements with generic and with
// custom plans and as through a pooler, on stale statistics, none and fresh ones, and checks the work that
// the server did for them.
//
//leat:level 4
func TestO11_Plans(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "needs a million rows")
	db := testenv.Postgres(t, million(t))
	plansOfWrongForms(t, db)
	for _, statistics := range statistics() {
		know(t, db, statistics)
		for _, mode := range planModes() {
			for name, p := range pagesOfMillion() {
				n := explain(t, db, mode, p)
				where := fmt.Sprintf("%s, %s statistics, %s\n%s", name, statistics, mode, n)
				require.Equal(t, p.rows, int(n.Rows), where)
				require.LessOrEqual(t, n.Hit+n.Read, p.buffers, where)
				n.check(t, p, where)
			}
		}
	}
}

// plansOfWrongForms is the negative control, on stale statistics. The bounds catch a statement that walks
// the log for its early rows, and one for which stale statistics make the planner sort the whole window
// for each page.
func plansOfWrongForms(t *testing.T, db *testenv.Database) {
	t.Helper()
	walk := pagesOfMillion()["early: the hours-old one has ended"]
	walk.statement = `SELECT o.seq, o.payload FROM leat.outbox o
		WHERE o.seq > $3::bigint AND o.seq <= $4::bigint
		  AND pg_visible_in_snapshot(o.xid, $2::pg_snapshot) AND NOT pg_visible_in_snapshot(o.xid, $1::pg_snapshot)
		ORDER BY o.seq LIMIT $5`
	n := explain(t, db, "force_generic_plan", walk)
	require.Equal(t, walk.rows, int(n.Rows))
	require.Greater(t, n.Hit+n.Read, 100*walk.buffers, n)

	sort := pagesOfMillion()["backlog"]
	sort.statement = `SELECT o.seq, o.payload FROM leat.outbox o
		WHERE o.seq > $3::bigint AND o.xid >= pg_snapshot_xmax($1::pg_snapshot)
		  AND pg_visible_in_snapshot(o.xid, $2::pg_snapshot) AND NOT pg_visible_in_snapshot(o.xid, $1::pg_snapshot)
		ORDER BY o.seq LIMIT $4`
	n = explainOn(t, db.Connect(t), "force_custom_plan", sort)
	require.Equal(t, sort.rows, int(n.Rows))
	require.Greater(t, n.Hit+n.Read, 10*sort.buffers, n)
}

// node is a node of an executed plan, with the values that the checks need.
type node struct {
	Type    string  `json:"Node Type"`
	Cost    float64 `json:"Total Cost"`
	Index   string  `json:"Index Name"`
	Cond    string  `json:"Index Cond"`
	Rows    float64 `json:"Actual Rows"`
	Loops   float64 `json:"Actual Loops"`
	Time    float64 `json:"Actual Total Time"` // ms
	Removed float64 `json:"Rows Removed by Filter"`
	Hit     int     `json:"Shared Hit Blocks"`
	Read    int     `json:"Shared Read Blocks"`
	Plans   []*node `json:"Plans"`
}

// String returns the plan, one line per node.
func (n *node) String() string {
	var b strings.Builder
	n.write(&b, "")
	return b.String()
}

func (n *node) write(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%s%s %s rows=%v loops=%v removed=%v hit=%d read=%d %s\n",
		indent, n.Type, n.Index, n.Rows, n.Loops, n.Removed, n.Hit, n.Read, n.Cond)
	for _, child := range n.Plans {
		child.write(b, indent+"  ")
	}
}

// throughAPooler is the mode of a page that carries its settings with it and is planned anew each time.
const throughAPooler = "through a pooler"

// planModes returns the ways in which a page gets its plan.
func planModes() []string {
	return []string{"force_generic_plan", "force_custom_plan", "auto", throughAPooler}
}

// explain runs p on a connection that is set up like a relay's.
func explain(t *testing.T, db *testenv.Database, mode string, p page) *node {
	t.Helper()
	conn, statements := db.Connect(t), loadStatements(t, "sql")
	if mode == throughAPooler {
		_, err := conn.Exec(t.Context(), "BEGIN")
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), statements["page_settings"])
		require.NoError(t, err)
		return explainOn(t, conn, "force_custom_plan", p)
	}
	_, err := conn.Exec(t.Context(), statements["own"], int64(conn.PgConn().PID()))
	require.NoError(t, err)
	return explainOn(t, conn, mode, p)
}

func explainOn(t *testing.T, conn *pgx.Conn, mode string, p page) *node {
	t.Helper()
	ctx := t.Context()
	sql := p.statement
	if named, ok := loadStatements(t, "sql")[p.statement]; ok {
		sql = named
	}
	_, err := conn.Exec(ctx, "SET jit = off; SET plan_cache_mode = "+mode)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, "PREPARE page AS "+sql)
	require.NoError(t, err)
	args := make([]string, len(p.args))
	for i, a := range p.args {
		args[i] = literal(a)
	}
	execute := "EXECUTE page(" + strings.Join(args, ", ") + ")"
	runs := 1
	if mode == "auto" {
		runs = 6 // after five it makes up its mind
	}
	for range runs {
		_, err = conn.Exec(ctx, execute)
		require.NoError(t, err)
	}
	var raw string
	require.NoError(t, conn.QueryRow(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+execute, pgx.QueryExecModeSimpleProtocol).Scan(&raw))
	var plans []struct{ Plan node }
	require.NoError(t, json.Unmarshal([]byte(raw), &plans))
	return &plans[0].Plan
}

// check fails if a node does more work than a page needs.
func (n *node) check(t *testing.T, p page, where string) {
	t.Helper()
	switch n.Type {
	case "Sort", "Incremental Sort":
		require.LessOrEqual(t, n.Plans[0].Rows*n.Plans[0].Loops, float64(pageSize), "it sorts more than a page: %s", where)
	case "Seq Scan", "Bitmap Heap Scan":
		require.Zero(t, n.Rows+n.Removed, "only partitions without a row are walked so: %s", where)
	case "Index Scan":
		require.LessOrEqual(t, n.Removed, 200.0, where)
		if p.statement == "page_early" && n.Loops > 0 && n.Rows > 0 {
			require.Contains(t, n.Cond, "ROW(", "an index probe a transaction: %s", where)
			require.Contains(t, n.Cond, "xid", where)
		}
	default:
	}
	for _, child := range n.Plans {
		child.check(t, p, where)
	}
}

// literal formats an argument of EXECUTE.
func literal(a any) string {
	if a == nil {
		return "NULL"
	}
	return fmt.Sprintf("'%v'", a)
}
