package mutants

// adminMutants break what operators are shown, and what they are promised not to change.
func adminMutants() []Mutant {
	const conformance = "TestConformance/"
	return []Mutant{
		{
			Name: "dry-run-drops", Breaks: []string{"O6"},
			Change:  "a dry run in SQL changes what it selects",
			File:    "outbox/internal/pgheld/change.go",
			Old:     `	if dryRun {`,
			New:     `	if dryRun && ctx == nil {`,
			Package: "outbox/pgoutbox", Test: conformance + "Admin_DryRunChangesNothing", Needs: Postgres,
		},
		{
			Name: "dry-run-drops-in-go", Breaks: []string{"O6"},
			Change:  "a dry run of the queue in Go changes what it selects",
			File:    "outbox/internal/heldqueue/change.go",
			Old:     `	if a.dryRun {`,
			New:     `	if a.dryRun && ctx == nil {`,
			Package: "outbox/memoutbox", Test: conformance + "Admin_DryRunChangesNothing",
		},
		{
			Name: "looking-locks-relays-out", Breaks: []string{"O7"},
			Change:  "a dry run may write, so that a role that may only read cannot ask for one",
			File:    "outbox/internal/pgheld/change.go",
			Old:     `		err = s.looking(ctx, db, func(tx pgx.Tx) error {`,
			New:     `		err = s.Locked(ctx, db, group, func(tx pgx.Tx) error {`,
			Package: "outbox/internal/pgheld", Test: "TestDryRunKeepsNobodyWaiting",
		},
		{
			Name: "waiting-behind-parked-is-not-shown", Breaks: []string{"O6"},
			Change:  "what waits behind a parked record is listed under no state",
			File:    "outbox/internal/pgheld/sql/list_held.sql",
			Old:     `($2::text IS NULL OR coalesce(f.state, nullif(h.state, 'wait'), 'retry') = $2)`,
			New:     `($2::text IS NULL OR h.state = $2)`,
			Package: "outbox/pgoutbox", Test: conformance + "Admin_HeldIsSelected", Needs: Postgres,
		},
		{
			Name: "pending-is-called-sent", Breaks: []string{"O2"},
			Change:  "a message that the newest window holds counts as sent before it is",
			File:    "outbox/pgoutbox/sql/trace_groups.sql",
			Old:     `pg_visible_in_snapshot(o.xid, s.target) AND o.seq <= s.last`,
			New:     `pg_visible_in_snapshot(o.xid, s.target)`,
			Package: "outbox/pgoutbox", Test: "TestTrace_WithinAWindow", Needs: Postgres,
		},
		{
			Name: "left-out-is-called-sent", Breaks: []string{"O2"},
			Change:  "a message that a group has left out counts as sent",
			File:    "outbox/memoutbox/trace.go",
			Old:     `at < ob.shares[g.name].begin)`,
			New:     `at < 0)`,
			Package: "outbox/memoutbox", Test: conformance + "Admin_TraceKnowsWhereAGroupBegan",
		},
		{
			Name: "old-leaders-outages-count", Breaks: []string{"O8"},
			Change:  "what a leader before has stored as out is shown for ever",
			File:    "outbox/internal/pgheld/sql/list_out.sql",
			Old:     `JOIN @{_leases} l USING (relay_group, slot, epoch)`,
			New:     `JOIN @{_leases} l USING (relay_group, slot)`,
			Package: "outbox/pgoutbox", Test: conformance + "Admin_OutagesAreSeen", Needs: Postgres,
		},
		{
			Name: "outages-are-stored-all-the-time", Breaks: []string{"O8"},
			Change:  "what is out is stored with each probe",
			File:    "outbox/relay/breaker_keep.go",
			Old:     `	if maps.Equal(now, bs.kept) {`,
			New:     `	if len(now) == 0 && maps.Equal(now, bs.kept) {`,
			Package: "outbox/relay", Test: "TestOutages_StoredOnChange",
		},
		{
			Name: "what-waits-has-no-age", Breaks: []string{"O15"},
			Change:  "the age of what waits behind a parked record is not told",
			File:    "outbox/internal/heldqueue/memory_admin.go",
			Old:     `			s.OldestWaiting = max(s.OldestWaiting, time.Since(k.record.CreatedAt))`,
			New:     ``,
			Package: "outbox/memoutbox", Test: conformance + "Admin_StatsCount",
		},
		{
			Name: "search-skips-a-page", Breaks: []string{"O2"},
			Change:  "a search goes on behind what it has looked at and not returned",
			File:    "outbox/pgoutbox/search.go",
			Old:     `	case n > 0 && (n == q.Limit || n < found):`,
			New:     `	case n > 0 && n < found:`,
			Package: "outbox/pgoutbox", Test: "TestConformance/Admin_SearchFinds", Needs: Postgres,
		},
	}
}
