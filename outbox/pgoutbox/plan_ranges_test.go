package pgoutbox_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// rowsOfRange is the number of rows in each range of a log with many ranges.
const rowsOfRange = 200

// divide creates full ranges and an empty open-ended one.
func divide(t *testing.T, db *testenv.Database, ranges int) {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'leat.outbox'::regclass")
	require.NoError(t, err)
	var script strings.Builder
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		fmt.Fprintf(&script, "DROP TABLE %s;\n", name)
	}
	require.NoError(t, rows.Err())
	from := "MINVALUE"
	for n := range ranges {
		to := strconv.Itoa((n+1)*rowsOfRange + 1)
		fmt.Fprintf(&script, "CREATE TABLE leat.outbox_p%d PARTITION OF leat.outbox FOR VALUES FROM (%s) TO (%s);\n", n+1, from, to)
		from = to
	}
	fmt.Fprintf(&script, "CREATE TABLE leat.outbox_tail PARTITION OF leat.outbox FOR VALUES FROM (%s) TO (MAXVALUE);\n", from)
	fmt.Fprintf(&script, `INSERT INTO leat.outbox (xid, seq, id, shard, topic, key, payload) OVERRIDING SYSTEM VALUE
		SELECT (1000 + i/2)::text::xid8, i, gen_random_uuid(), i %% 64, 'events', 'key-' || i %% 1000, '\x0011'
		FROM generate_series(1, %d) i`, ranges*rowsOfRange)
	_, err = db.Pool.Exec(t.Context(), script.String())
	require.NoError(t, err)
}

// walked returns the number of ranges that a plan has walked.
func (n *node) walked() int {
	if len(n.Plans) == 0 {
		return min(int(n.Loops), 1)
	}
	all := 0
	for _, child := range n.Plans {
		all += child.walked()
	}
	return all
}

// TestO11_PlansOfManyRanges: however many ranges the log has, a page walks only those with its rows, and
// at most one more.
//
//leat:level 4
func TestO11_PlansOfManyRanges(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "makes hundreds of tables")
	for _, ranges := range []int{4, 100, 400} {
		t.Run(strconv.Itoa(ranges), func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t, migrated())
			divide(t, db, ranges)
			all := ranges * rowsOfRange
			half := all / 2
			wrong := page{`SELECT o.seq, o.payload FROM leat.outbox o WHERE o.seq + 0 > $3::bigint
				AND pg_visible_in_snapshot(o.xid, $2::pg_snapshot) AND NOT pg_visible_in_snapshot(o.xid, $1::pg_snapshot)
				ORDER BY o.seq LIMIT $4`, []any{snapshotAt(half), snapshotAt(all), half, 250}, 250, 0}
			require.Greater(t, explain(t, db, "auto", wrong).walked(), ranges/2, "the control walks all before its rows")
			for _, known := range []bool{false, true} {
				if known {
					_, err := db.Pool.Exec(context.Background(), "ANALYZE leat.outbox")
					require.NoError(t, err)
				}
				for _, mode := range planModes() {
					for name, c := range map[string]struct {
						page
						ranges int
					}{
						"steady":  {page{"page", []any{snapshotAt(all - 50), snapshotAt(all), all - 60, pageSize}, 49, 30}, 2},
						"backlog": {page{"page", []any{snapshotAt(half), snapshotAt(all), half, 250}, 250, 60}, 3},
						"nothing": {page{"page", []any{snapshotAt(all), snapshotAt(all), all, pageSize}, 0, 10}, 1},
					} {
						n := explain(t, db, mode, c.page)
						where := fmt.Sprintf("%s, with statistics: %t, %s\n%s", name, known, mode, n)
						require.InDelta(t, c.rows, n.Rows, 1, where)
						require.LessOrEqual(t, n.Hit+n.Read, c.buffers, where)
						require.LessOrEqual(t, n.walked(), c.ranges+2, where) // and the expressions of limit and offset
					}
				}
			}
		})
	}
}
