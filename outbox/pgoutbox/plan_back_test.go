package pgoutbox_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// TestO11_PlansOfTheLookForASequenceThatWentBack: the query for a sequence that went back walks the index
// on (xid, seq) from the window on. It reads neither the history before the window nor rows.
//
//leat:level 4
func TestO11_PlansOfTheLookForASequenceThatWentBack(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "needs a million rows")
	const all = 1_000_000
	db := testenv.Postgres(t, million(t))
	statements := loadStatements(t, "../internal/pgwindow/sql")
	sql := "SELECT " + statements["back"] + ` AS found FROM (SELECT $1::pg_snapshot AS target, $2::bigint AS next_floor,
		$3::bigint AS source_floor, $4::text::xid8 AS opened_by OFFSET 0) own`
	sequence := query1[uint32](t, db, "SELECT 'leat.outbox_seq_seq'::regclass::oid")
	behind := func(row, buffers int) page {
		return page{sql, []any{snapshotAt(row), row - 100, row, 1000 + row/2}, 1, buffers}
	}
	pages := map[string]page{
		"steady": behind(999_000, 40), "backlog": behind(100_000, 4500), "nothing": behind(all, 30), "a new group": behind(100, 5000),
		"probe at rest": {strings.ReplaceAll(statements["chain_probe"], "{due}", statements["due"]), []any{sequence, snapshotAt(all), "default", 0}, 1, 40},
	}
	for _, statistics := range statistics() {
		know(t, db, statistics)
		for _, mode := range planModes() {
			for name, p := range pages {
				n := explain(t, db, mode, p)
				where := fmt.Sprintf("%s, %s statistics, %s\n%s", name, statistics, mode, n)
				require.LessOrEqual(t, n.Hit+n.Read, p.buffers, where)
			}
		}
	}
}
