package wmforward_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/wmforward"
)

const (
	planRows = 300_000
	analysed = 100_000 // rows that the statistics know of
	places   = 5000    // of a page
)

// largeTable has planRows rows, two to a transaction: row i is of xid 1000 + i/2.
func largeTable(t *testing.T) *testenv.Database {
	t.Helper()
	db := newDatabase(t)
	const insert = `INSERT INTO watermill_forwarder_topic ("offset", uuid, payload, transaction_id)
		SELECT i, 'u', '{"destination_topic":"t","uuid":"u","payload":"AAAA"}', (1000 + i/2)::text::xid8
		FROM generate_series($1::int, $2::int) i`
	exec(t, db, `ALTER TABLE watermill_forwarder_topic SET (autovacuum_enabled = false)`)
	exec(t, db, insert, 1, analysed)
	exec(t, db, `ANALYZE watermill_forwarder_topic`)
	exec(t, db, insert, analysed+1, planRows)
	return db
}

// snapshotAt sees all rows up to row, except transactions under way.
func snapshotAt(row int, underway ...int) string {
	xmax := 1000 + row/2 + 1
	xmin, xip := xmax, make([]string, len(underway))
	for i, x := range underway {
		xmin, xip[i] = min(xmin, x), strconv.Itoa(x)
	}
	return fmt.Sprintf("%d:%d:%s", xmin, xmax, strings.Join(xip, ","))
}

// planned is a statement with what it returns and may cost.
type planned struct {
	statement string
	args      []string
	rows      int
	buffers   int // that it may touch
}

func pagePlaces(first int) []string {
	var xids, numbers []string
	for i := range places {
		xids, numbers = append(xids, strconv.Itoa(1000+(first+i)/2)), append(numbers, strconv.Itoa(first+i))
	}
	return []string{"{" + strings.Join(xids, ",") + "}", "{" + strings.Join(numbers, ",") + "}"}
}

func plans() map[string]planned {
	const hoursOld = 2000 // under way since row 2,000
	return map[string]planned{
		"list": {"list", []string{snapshotAt(planRows - 1000), snapshotAt(planRows), "0", "1000000"}, 1000 - 1, 100},
		"list, an hours-old transaction": {
			"list", []string{snapshotAt(planRows-1000, hoursOld), snapshotAt(planRows, hoursOld), "0", "1000000"}, 999, 100,
		},
		"list, the hours-old one has ended": {
			"list", []string{snapshotAt(planRows-1000, hoursOld), snapshotAt(planRows), "0", "1000000"}, 999 + 2, 100,
		},
		"list, nothing":            {"list", []string{snapshotAt(planRows), snapshotAt(planRows), "0", "1000000"}, 0, 20},
		"list, a backlog":          {"list", []string{"3:3:", snapshotAt(planRows), "0", "1000000"}, planRows, 20_000},
		"list, a backlog in parts": {"list", []string{"3:3:", snapshotAt(planRows), "200000", "50000"}, 50_000, 20_000},
		"page":                     {"page", pagePlaces(analysed), places, 4 * places},
		"page of the newest":       {"page", pagePlaces(planRows - places), places, 4 * places},
		"probe":                    {"probe", []string{snapshotAt(planRows - 1000)}, 1, 20},
		"probe, nothing":           {"probe", []string{snapshotAt(planRows, hoursOld)}, 1, 20},
	}
}

// TestO11_Plans looks at what the server does for each statement, on stale and on
// fresh statistics, with generic and with custom plans.
//
//leat:level 4
func TestO11_Plans(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "needs a large table")
	db := largeTable(t)
	src := newSource(t, db, wmforward.Config{})
	for _, statistics := range []string{"stale", "fresh"} {
		if statistics == "fresh" {
			exec(t, db, "ANALYZE watermill_forwarder_topic")
		}
		for _, mode := range []string{"force_generic_plan", "force_custom_plan", "auto"} {
			for name, p := range plans() {
				n := explain(t, db, mode, src.Statement(p.statement), p.args)
				where := fmt.Sprintf("%s, %s statistics, %s\n%s", name, statistics, mode, n)
				require.Equal(t, p.rows, int(n.Rows), where)
				require.LessOrEqual(t, n.Hit+n.Read, p.buffers, where)
				require.False(t, n.has("Seq Scan") || n.has("Bitmap Heap Scan"), where)
			}
		}
	}
	// The negative control: pages that are cut from the window itself sort all of
	// it each time.
	wrong := explain(t, db, "force_custom_plan", `SELECT i."offset", i.payload FROM public.watermill_forwarder_topic i
		WHERE i.transaction_id >= pg_snapshot_xmax($1::pg_snapshot) AND i."offset" > $2::bigint ORDER BY i."offset" LIMIT 5000`,
		[]string{"3:3:", "0"})
	require.True(t, wrong.has("Sort"), wrong)
	require.Greater(t, wrong.most("Sort"), float64(planRows-1), wrong)
}

// TestO11_PlansOnce: a relay's statements are planned once a connection, on fresh
// statistics. The negative control is a connection that is not set up as a relay's.
func TestO11_PlansOnce(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, `INSERT INTO watermill_forwarder_topic ("offset", uuid, payload, transaction_id)
		SELECT i, 'u', '{}', (1000 + i)::text::xid8 FROM generate_series(1, 1000) i; ANALYZE watermill_forwarder_topic`)
	src := newSource(t, db, wmforward.Config{})
	planned := func(conn *pgx.Conn) (custom int) {
		for _, p := range plans() {
			_, err := conn.Exec(t.Context(), "DEALLOCATE ALL; PREPARE statement AS "+src.Statement(p.statement), pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
			for range 20 {
				_, err := conn.Exec(t.Context(), "EXECUTE statement('"+strings.Join(p.args, "', '")+"')", pgx.QueryExecModeSimpleProtocol)
				require.NoError(t, err)
			}
			var n int
			require.NoError(t, conn.QueryRow(t.Context(), "SELECT sum(custom_plans) FROM pg_prepared_statements", pgx.QueryExecModeSimpleProtocol).Scan(&n))
			custom += n
		}
		return custom
	}
	require.Positive(t, planned(db.Connect(t)), "not set up: each time anew")
	conn := db.Connect(t)
	_, err := conn.Exec(t.Context(), wmforward.Settings)
	require.NoError(t, err)
	require.Zero(t, planned(conn))
}

// node is a node of an executed plan, with what it needs to be judged by.
type node struct {
	Type  string  `json:"Node Type"`
	Index string  `json:"Index Name"`
	Rows  float64 `json:"Actual Rows"`
	Loops float64 `json:"Actual Loops"`
	Hit   int     `json:"Shared Hit Blocks"`
	Read  int     `json:"Shared Read Blocks"`
	Plans []*node `json:"Plans"`
}

// String shows the plan, a line a node.
func (n *node) String() string {
	var b strings.Builder
	n.write(&b, "")
	return b.String()
}

func (n *node) write(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%s%s %s rows=%v loops=%v hit=%d read=%d\n", indent, n.Type, n.Index, n.Rows, n.Loops, n.Hit, n.Read)
	for _, child := range n.Plans {
		child.write(b, indent+"  ")
	}
}

// has reports whether a node of the type was executed.
func (n *node) has(kind string) bool {
	if n.Type == kind && n.Loops > 0 {
		return true
	}
	for _, child := range n.Plans {
		if child.has(kind) {
			return true
		}
	}
	return false
}

// most is the largest number of rows that nodes of the type were given.
func (n *node) most(kind string) float64 {
	var rows float64
	for _, child := range n.Plans {
		if n.Type == kind {
			rows = max(rows, child.Rows)
		}
		rows = max(rows, child.most(kind))
	}
	return rows
}

func explain(t *testing.T, db *testenv.Database, mode, sql string, args []string) *node {
	t.Helper()
	ctx := t.Context()
	conn := db.Connect(t)
	_, err := conn.Exec(ctx, wmforward.Settings+"; SET plan_cache_mode = "+mode)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, "PREPARE statement AS "+sql)
	require.NoError(t, err)
	execute := "EXECUTE statement('" + strings.Join(args, "', '") + "')"
	if mode == "auto" {
		for range 6 { // so that it has made up its mind
			_, err = conn.Exec(ctx, execute)
			require.NoError(t, err)
		}
	}
	var raw string
	require.NoError(t, conn.QueryRow(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+execute, pgx.QueryExecModeSimpleProtocol).Scan(&raw))
	var all []struct{ Plan node }
	require.NoError(t, json.Unmarshal([]byte(raw), &all))
	return &all[0].Plan
}
