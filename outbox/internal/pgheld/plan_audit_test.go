package pgheld_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// TestPlans_Audit finds the entries about one message among a hundred thousand by their
// index, in either direction, on no statistics and on fresh ones; without the index all
// are read.
//
//leat:level 4
func TestPlans_Audit(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "needs a hundred thousand entries")
	b := newBench(t)
	run := func(sql string) {
		_, err := b.db.Pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	run("ALTER TABLE leat.outbox_audit SET (autovacuum_enabled = false)")
	run(`INSERT INTO leat.outbox_audit (action, actor, relay_group, seq, id, topic, at)
		SELECT 'park', 'relay', 'default', i, 'id ' || i % 50000, 'events', now() - (100000 - i) * interval '1 s' FROM generate_series(1, 100000) i`)
	look := func(statement, after, mode string) *node {
		return b.explain(mode, b.SQL()[statement], strings.Repeat("NULL, ", 4)+"'id 7', now() - interval '10 days', "+after+", 100")
	}
	directions := map[string]string{"list_audit_id": "0", "list_audit_id_newest": "9223372036854775807"}
	for _, statistics := range []string{"no", "fresh"} {
		if statistics == "fresh" {
			run("ANALYZE leat.outbox_audit")
		}
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			for statement, after := range directions {
				n := look(statement, after, mode)
				var plan strings.Builder
				n.write(&plan, "")
				where := statement + ", " + statistics + " statistics, " + mode + "\n" + plan.String()
				require.Equal(t, 2, int(n.Rows), where)
				require.LessOrEqual(t, n.Hit+n.Read, 20, where)
				require.Contains(t, plan.String(), "outbox_audit_id_idx", where)
			}
		}
	}
	run("DROP INDEX leat.outbox_audit_id_idx")
	for statement, after := range directions {
		n := look(statement, after, "force_custom_plan")
		require.Equal(t, 2, int(n.Rows), "negative control")
		require.Greater(t, n.Hit+n.Read, 500, "negative control")
	}
}
