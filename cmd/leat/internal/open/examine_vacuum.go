package open

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
)

// wraparound checks all databases of the server, since the oldest one stops them all.
func (x examination) wraparound(ctx context.Context) ([]doctor.Finding, error) {
	all, err := findings(ctx, x.Postgres, x.sql["age"], nil, func(row pgx.CollectableRow) (doctor.Finding, error) {
		var database string
		var xids, multixacts int64
		err := row.Scan(&database, &xids, &multixacts)
		what, age := "transactions", xids
		if multixacts > xids {
			what, age = "multixacts", multixacts
		}
		return doctor.Finding{
			Verdict: doctor.Age(age), Text: fmt.Sprintf("database %s has rows that are %d %s old: at 2147483648 the server refuses all writes", database, age, what),
			Advice: "end what holds vacuum back (holders.*), then VACUUM (FREEZE) there",
		}, err
	})
	if err != nil {
		return nil, err
	}
	var old []doctor.Finding
	for _, f := range all {
		if f.Verdict != doctor.OK {
			old = append(old, f)
		}
	}
	return old, nil
}

func (x examination) autovacuum(ctx context.Context) ([]doctor.Finding, error) {
	return findings(ctx, x.Postgres, x.sql["autovacuum"], []any{x.target.Schema, x.prefixes()}, func(row pgx.CollectableRow) (doctor.Finding, error) {
		f := doctor.Finding{Verdict: doctor.Warn}
		return f, row.Scan(&f.Text, &f.Advice)
	})
}

func (x examination) deadRows(ctx context.Context) ([]doctor.Finding, error) {
	return findings(ctx, x.Postgres, x.sql["dead_rows"], []any{x.target.Schema, x.target.Outbox}, func(row pgx.CollectableRow) (doctor.Finding, error) {
		var table string
		var dead, live int64
		err := row.Scan(&table, &dead, &live)
		return doctor.Finding{
			Verdict: doctor.Warn, Text: fmt.Sprintf("%s has %d dead rows, and %d that live: relays read past them", table, dead, live),
			Advice: "end what holds vacuum back (holders.*), then VACUUM " + table,
		}, err
	})
}

// neverAnalyzed only matters behind a pooler: relays with a direct connection control the planner
// themselves.
func (x examination) neverAnalyzed(ctx context.Context) ([]doctor.Finding, error) {
	conn, err := x.Pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	direct, err := isDirect(ctx, conn.Conn())
	conn.Release()
	if err != nil || direct {
		return nil, err
	}
	return findings(ctx, x.Postgres, x.sql["never_analyzed"], []any{x.target.Schema, x.target.Outbox}, func(row pgx.CollectableRow) (doctor.Finding, error) {
		var table string
		var rows int64
		err := row.Scan(&table, &rows)
		return doctor.Finding{
			Verdict: doctor.Warn, Text: fmt.Sprintf("%s has %d rows, and was never analyzed: behind a pooler, plans of relays follow the statistics", table, rows),
			Advice: "ANALYZE " + table,
		}, err
	})
}
