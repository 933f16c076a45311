package pgoutbox_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// filteredPages returns pages of readers of some rows only, in the log made by million: slots divide it
// evenly, and every topic is "events".
func filteredPages() map[string]page {
	const hoursOld = 2000 // under way since row 2,000
	const all = 1_000_000
	slot := func(p page, slots, no int, topics any) page {
		p.args = append(p.args, slots, no, topics)
		return p
	}
	backlog := page{"page_filtered", []any{snapshotAt(100_000), snapshotAt(all), 100_000, pageSize}, pageSize, 800}
	steady := page{"page_filtered", []any{snapshotAt(999_000), snapshotAt(all), 998_900, pageSize}, 0, 100}
	early := page{"page_early_filtered", []any{snapshotAt(999_000, hoursOld), snapshotAt(all), 0, 999_000, pageSize}, 0, 40}
	burst := page{"page_early_filtered", []any{snapshotAt(999_000, many()...), snapshotAt(all), 0, 999_000, pageSize}, 0, 2000}
	with := func(p page, rows, buffers int) page {
		p.rows, p.buffers = rows, buffers
		return p
	}
	return map[string]page{
		"half of a backlog":            slot(backlog, 2, 1, nil),
		"all of a backlog, by topic":   slot(backlog, 1, 0, "{even%}"),
		"half, by topic":               slot(backlog, 2, 1, `{other,even%}`),
		"steady, one of 4":             slot(with(steady, 249, 100), 4, 1, nil),
		"steady, one of 64":            slot(with(steady, 15, 100), 64, 3, nil),
		"steady, no topic":             slot(steady, 1, 0, "{other}"),
		"steady, by topic":             slot(with(steady, 999, 100), 1, 0, "{%s}"),
		"early, one of two":            slot(with(early, 1, 40), 2, 0, nil),
		"early, by topic":              slot(with(early, 2, 40), 1, 0, "{events}"),
		"early, no topic":              slot(early, 1, 0, "{other}"),
		"early: a burst, one of two":   slot(with(burst, 100, 2000), 2, 0, nil),
		"early: a burst, other topics": slot(burst, 2, 0, "{x%,other}"),
	}
}

// TestO11_PlansOfFilteredPages: a reader of some rows walks the log as a reader of all rows does, and no
// plan sorts a window for a page.
//
//leat:level 4
func TestO11_PlansOfFilteredPages(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "needs a million rows")
	db := testenv.Postgres(t, million(t))
	for _, statistics := range statistics() {
		know(t, db, statistics)
		if statistics == "no" {
			wholeRangesAreRead(t, db)
		}
		for _, mode := range planModes() {
			for name, p := range filteredPages() {
				n := explain(t, db, mode, p)
				where := fmt.Sprintf("%s, %s statistics, %s\n%s", name, statistics, mode, n)
				require.Equal(t, p.rows, int(n.Rows), where)
				require.LessOrEqual(t, n.Hit+n.Read, p.buffers, where)
				n.noSort(t, where)
			}
		}
	}
}

// wholeRangesAreRead is the negative control: without the settings of a relay's connections, the planner
// reads a whole range for one page.
func wholeRangesAreRead(t *testing.T, db *testenv.Database) {
	t.Helper()
	p := filteredPages()["steady, one of 4"]
	n := explainOn(t, db.Connect(t), "force_custom_plan", p)
	require.Equal(t, p.rows, int(n.Rows))
	require.Greater(t, n.Hit+n.Read, 100*p.buffers, n)
}

// noSort fails if the plan sorts more than a page, or walks a whole partition.
func (n *node) noSort(t *testing.T, where string) {
	t.Helper()
	switch n.Type {
	case "Sort", "Incremental Sort":
		require.LessOrEqual(t, n.Plans[0].Rows*n.Plans[0].Loops, float64(pageSize), "it sorts more than a page: %s", where)
	case "Seq Scan", "Bitmap Heap Scan":
		require.Zero(t, n.Rows+n.Removed, "only partitions without a row are walked so: %s", where)
	default:
	}
	for _, child := range n.Plans {
		child.noSort(t, where)
	}
}
