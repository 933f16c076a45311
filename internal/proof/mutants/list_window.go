package mutants

// pageMutants break what is read of a window.
func pageMutants() []Mutant {
	return []Mutant{
		{
			Name: "full-page-ends-a-window", Breaks: []string{"O2"},
			Change:  "a window ends with its first page",
			File:    "outbox/pgoutbox/read.go",
			Old:     `n.whole = !full`,
			New:     `n.whole = full || !full`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O2_FullPageIsNotTheEnd", Needs: Postgres,
		},
		{
			Name: "transactions-under-way-are-forgotten", Breaks: []string{"O2"},
			Change:  "rows below the floor of transactions that were under way are not looked up",
			File:    "internal/pgwindow/position.go",
			Old:     `return w.Floor > 0 && w.Prev.EndedBy(w.Target)`,
			New:     `return w.Floor < 0 && w.Prev.EndedBy(w.Target)`,
			Package: "outbox/pgoutbox", Test: "TestO2_SavepointsAcrossWindows", Needs: Postgres,
		},
		{
			Name: "floor-one-window-too-early", Breaks: []string{"O2"},
			Change:  "a window starts at the floor that was read for the one after it",
			File:    "internal/pgwindow/sql/open.sql",
			Old:     `p.next_floor, p.source_floor, $4, 0, l.owner`,
			New:     `p.source_floor, p.source_floor, $4, 0, l.owner`, //nolint:dupword // it is as it is
			Package: "outbox/pgoutbox", Test: "TestO2_O5_O10_RandomSchedules", Needs: Postgres,
		},
		{
			Name: "early-page-stops-below-the-floor", Breaks: []string{"O2"},
			Change:  "< for <= at the floor, for transactions that were under way",
			File:    "outbox/pgoutbox/sql/page_early.sql",
			Old:     `(i.xid, i.seq) <= (e.x, $4::bigint)`,
			New:     `(i.xid, i.seq) < (e.x, $4::bigint)`,
			Package: "outbox/pgoutbox", Test: "TestO2_LateRowAtTheFloor", Needs: Postgres,
		},
		{
			Name: "rows-of-the-last-window-again", Breaks: []string{"O10"},
			Change:  "a window holds all that its snapshot sees",
			File:    "outbox/pgoutbox/sql/page.sql",
			Old:     `AND NOT pg_visible_in_snapshot(o.xid, $1::pg_snapshot)`,
			New:     `AND $1::text IS NOT NULL`,
			Package: "outbox/pgoutbox", Test: "TestO10_ExactlyOneCopy", Needs: Postgres,
		},
		{
			Name: "order-by-xid", Breaks: []string{"O5"},
			Change:  "a window is read in the order of the transactions",
			File:    "outbox/pgoutbox/sql/page.sql",
			Old:     `ORDER BY o.seq`,
			New:     `ORDER BY o.xid, o.seq`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O5_EarlyTransactionLateKey", Needs: Postgres,
		},
		{
			Name: "xmin-horizon", Breaks: []string{"O2", "O11"},
			Change:  "a window ends at the oldest transaction of the cluster",
			File:    "outbox/pgoutbox/sql/page.sql",
			Old:     `AND pg_visible_in_snapshot(o.xid, $2::pg_snapshot)`,
			New:     `AND o.xid < pg_snapshot_xmin($2::pg_snapshot)`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O11_OpenTransactionDelaysNothing", Needs: Postgres,
		},
	}
}

// probeMutants break when a window is opened, and on what.
func probeMutants() []Mutant {
	return []Mutant{
		{
			Name: "log-that-began-anew", Breaks: []string{"O2"},
			Change:  "the log of after a TRUNCATE … RESTART IDENTITY is taken for that of before",
			File:    "internal/pgwindow/facts.go",
			Old:     `if incarnation != 0 && incarnation != f.Incarnation {`,
			New:     `if incarnation < 0 {`,
			Package: "outbox/pgoutbox", Test: "TestO2_TruncatedLogIsRefused", Needs: Postgres,
		},
		{
			Name: "log-that-began-anew-under-a-relay", Breaks: []string{"O2"},
			Change:  "a relay that runs does not look whether it is the same log",
			File:    "internal/pgwindow/chain.go",
			Old:     `case incarnation != facts.Incarnation:`,
			New:     `case incarnation < 0:`,
			Package: "outbox/pgoutbox", Test: "TestO2_TruncateUnderARelay", Needs: Postgres,
		},
		{
			Name: "numbers-that-contradict-the-position", Breaks: []string{"O2"},
			Change:  "newer rows below the floor are no sign that numbers began anew",
			File:    "internal/pgwindow/chain_history.go",
			Old:     `if err == nil && found {`,
			New:     `if err == nil && found && w.No < 0 {`,
			Package: "outbox/pgoutbox", Test: "TestO2_NumbersThatBeganAnewAreRefused", Needs: Postgres,
		},
		{
			Name: "hidden-rows-are-none", Breaks: []string{"O2"},
			Change:  "rows that row level security hides from a relay are taken for none",
			File:    "outbox/pgoutbox/sql/own.sql",
			Old:     `('row_security', 'off')`,
			New:     `('row_security', 'on')`,
			Package: "outbox/pgoutbox", Test: "TestO2_RowLevelSecurityUnderARelay/direct", Needs: Postgres,
		},
		{
			Name: "hidden-rows-are-none-behind-a-pooler", Breaks: []string{"O2"},
			Change:  "the same through a pooler, which keeps no settings",
			File:    "outbox/pgoutbox/decode.go",
			Old:     `if !n.pooled {`,
			New:     `if n.reader != nil {`,
			Package: "outbox/pgoutbox", Test: "TestO2_RowLevelSecurityUnderARelay/through_a_pooler", Needs: Postgres,
		},
		{
			Name: "row-level-security-is-not-looked-for", Breaks: []string{"O2"},
			Change:  "a relay starts where rows are hidden from it",
			File:    "internal/pgwindow/facts.go",
			Old:     `case partly != "":`,
			New:     `case partly == "none":`,
			Package: "outbox/pgoutbox", Test: "TestO2_RowLevelSecurityIsRefused", Needs: Postgres,
		},
		{
			Name: "xid-above-xmax-is-not-probed-for", Breaks: []string{"O2"},
			Change:  "no window is opened for a number that was drawn before the sequence was read",
			File:    "internal/pgwindow/position.go",
			Old:     `return w.SourceFloor != w.NextFloor && w.OpenedBy > w.Target.Xmax`,
			New:     `return w.SourceFloor != w.NextFloor && w.OpenedBy < w.Target.Xmax`,
			Package: "internal/pgwindow", Test: "TestO2_ProbeFindsXidAboveXmax", Needs: Postgres,
		},
		{
			Name: "probe-looks-at-the-sequence-alone", Breaks: []string{"O2"},
			Change:  "the end of a transaction that was under way opens no window",
			File:    "internal/pgwindow/position.go",
			Old:     `if p.Sequence != w.SourceFloor || p.Ended {`,
			New:     `if p.Sequence != w.SourceFloor {`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O2_LateCommitterIsRead", Needs: Postgres,
		},
		{
			Name: "probe-always-finds-something", Breaks: []string{"O15"},
			Change:  ">= for != where the sequence is compared",
			File:    "internal/pgwindow/position.go",
			Old:     `if p.Sequence != w.SourceFloor || p.Ended {`,
			New:     `if p.Sequence >= w.SourceFloor || p.Ended {`,
			Package: "outbox/pgoutbox", Test: "TestO15_IdleWritesNothing", Needs: Postgres,
		},
		{
			Name: "windows-are-kept-for-ever", Breaks: []string{"O15"},
			Change:  "old windows are not deleted",
			File:    "internal/pgwindow/sql/open.sql",
			Old:     `AND window_no = $3::bigint - 64`,
			New:     `AND window_no = $3::bigint - 64 AND false`,
			Package: "internal/pgwindow", Test: "TestO12_OldWindowsGo", Needs: Postgres,
		},
		{
			Name: "position-of-another-cluster", Breaks: []string{"O2"},
			Change:  "the position of another cluster is taken for one of this",
			File:    "internal/pgwindow/facts.go",
			Old:     `if w.SystemIdentifier != f.SystemIdentifier {`,
			New:     `if w.SystemIdentifier < 0 && w.SystemIdentifier != f.SystemIdentifier {`,
			Package: "internal/pgwindow", Test: "TestO2_OtherClusterIsRefused", Needs: Postgres,
		},
		{
			Name: "sequence-that-went-back", Breaks: []string{"O2"},
			Change:  "a sequence behind the position is no error",
			File:    "internal/pgwindow/position.go",
			Old:     `case p.Sequence < w.SourceFloor:`,
			New:     `case p.Sequence < 0:`,
			Package: "internal/pgwindow", Test: "TestO2_SequenceThatWentBackIsRefused", Needs: Postgres,
		},
		{
			Name: "sequence-that-caches", Breaks: []string{"O5"},
			Change:  "a sequence whose sessions keep numbers back is accepted",
			File:    "internal/pgwindow/facts.go",
			Old:     `case cache != 1:`,
			New:     `case cache < 1:`,
			Package: "internal/pgwindow", Test: "TestO2_SequenceCacheIsRefused", Needs: Postgres,
		},
	}
}
