package pgheld_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// crowded is a database with a hundred thousand held records: of "away" a key each,
// due, except the last hundred, which are parked; of "events" one key with half of
// all; beside them a few keys of "few".
func crowded(t *testing.T) testenv.Template {
	t.Helper()
	tmpl := migrated()
	tmpl.Name, tmpl.Version = "crowded", tmpl.Version+"1"
	tmpl.Apply = func(ctx context.Context, url string) error {
		if err := migrate(ctx, url); err != nil {
			return err
		}
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		const insert = `INSERT INTO leat.outbox_held (relay_group, seq, state, next_at, epoch, created_at, id, shard, topic, key, payload)
			SELECT 'default', i, %s, %s, 1, now(), gen_random_uuid(), i %% 64, %s, %s, decode(repeat('00', 200), 'hex')
			FROM generate_series(%d, %d) i`
		for _, sql := range []string{
			"ALTER TABLE leat.outbox_held SET (autovacuum_enabled = false)",
			fmt.Sprintf(insert, "'retry'", "now() - interval '1 h'", "'away'", "'k' || i", 1, 49_900),
			fmt.Sprintf(insert, "'parked'", "NULL::timestamptz", "'away'", "'k' || i", 49_901, 50_000),
			fmt.Sprintf(insert, "CASE WHEN i = 50001 THEN 'retry' ELSE 'wait' END",
				"CASE WHEN i = 50001 THEN now() - interval '1 m' END", "'events'", "'one'", 50_001, 100_000),
			fmt.Sprintf(insert, "'retry'", "now() - interval '2 m'", "'few'", "'f' || i", 100_001, 100_010),
		} {
			if _, err := conn.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	}
	return tmpl
}

// node is a node of an executed plan.
type node struct {
	Type    string  `json:"Node Type"`
	Index   string  `json:"Index Name"`
	Table   string  `json:"Relation Name"`
	Rows    float64 `json:"Actual Rows"`
	Removed float64 `json:"Rows Removed by Filter"`
	Hit     int     `json:"Shared Hit Blocks"`
	Read    int     `json:"Shared Read Blocks"`
	Plans   []*node `json:"Plans"`
}

func (n *node) write(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%s%s %s rows=%v removed=%v buffers=%d\n", indent, n.Type, n.Table+n.Index, n.Rows, n.Removed, n.Hit+n.Read)
	for _, child := range n.Plans {
		child.write(b, indent+"  ")
	}
}

// TestPlans runs what a relay asks again and again with a hundred thousand records
// held, on no statistics and on fresh ones.
//
//leat:level 4
func TestPlans(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "needs a hundred thousand records")
	db := testenv.Postgres(t, crowded(t))
	b := benchOn(t, db)
	const one = "'{events,few}', '{one,f100001}'"
	for _, statistics := range []string{"no", "fresh"} {
		if statistics == "fresh" {
			_, err := db.Pool.Exec(t.Context(), "ANALYZE leat.outbox_held")
			require.NoError(t, err)
		}
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			for name, c := range map[string]struct {
				statement, args string
				rows, buffers   int
			}{
				"due, a topic is unavailable": {"due", "'default', 500, '{away}', 1::smallint, 0::smallint, 4194304", 56, 700},
				"due, all":                    {"due", "'default', 500, '{}', 1::smallint, 0::smallint, 4194304", 500, 12_000},
				"due, a slot":                 {"due", "'default', 100, '{away}', 64::smallint, 33::smallint, 4194304", 1, 700},
				"settle":                      {"settle", "'default', " + one, 0, 100},
				"free":                        {"free", "'default', " + one, 0, 100},
				"leave":                       {"leave", "'default', 1, 'x', '{100001,100002}', '{delivered,delivered}', '{[],[]}', '{NULL,NULL}'", 0, 300},
				"stay":                        {"stay", "'default', 1, 'x', '{100001,100002}', '{retry,retry}', '{1,1}', '{[],[]}', '{0,0}', '{NULL,NULL}'", 0, 300},
			} {
				n := b.explain(mode, b.SQL()[c.statement], c.args)
				var plan strings.Builder
				n.write(&plan, "")
				where := name + ", " + statistics + " statistics, " + mode + "\n" + plan.String()
				require.Equal(t, c.rows, int(n.Rows), where)
				require.LessOrEqual(t, n.Hit+n.Read, c.buffers, where)
				require.NotContains(t, plan.String(), "Seq Scan outbox_held", where)
			}
		}
	}
}

// explain runs a statement, undoes it, and returns its plan.
func (b *bench) explain(mode, sql, args string) *node {
	b.t.Helper()
	ctx := b.t.Context()
	tx, err := b.db.Connect(b.t).Begin(ctx)
	require.NoError(b.t, err)
	defer tx.Rollback(ctx)
	for _, s := range []string{"SET LOCAL jit = off", "SET LOCAL plan_cache_mode = " + mode, "PREPARE look AS " + sql} {
		_, err = tx.Exec(ctx, s)
		require.NoError(b.t, err)
	}
	var raw string
	require.NoError(b.t, tx.QueryRow(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE look("+args+")", pgx.QueryExecModeSimpleProtocol).Scan(&raw))
	var plans []struct{ Plan node }
	require.NoError(b.t, json.Unmarshal([]byte(raw), &plans))
	return &plans[0].Plan
}
