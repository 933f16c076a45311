package mutants

// retentionMutants break how history goes.
func retentionMutants() []Mutant {
	return []Mutant{
		{
			Name: "deletes-by-a-foreign-position", Breaks: []string{"O2", "R8"},
			Change:  "a position that relays would refuse still says what may be deleted",
			File:    "outbox/pgoutbox/sql/slots.sql",
			Old:     `@{_problem}(n.system_identifier, s.incarnation, n.source_floor)`,
			New:     `NULL::text`,
			Package: "outbox/pgoutbox", Test: "TestO2_NobodyDeletesByAForeignPosition", Needs: Postgres,
		},
		{
			Name: "foreign-position-counts-in-status", Breaks: []string{"O2"},
			Change:  "status counts by a position that relays would refuse",
			File:    "outbox/pgoutbox/migrations/00003_history.sql",
			Old:     `THEN 'position of another cluster'`,
			New:     `THEN NULL`,
			Package: "outbox/pgoutbox", Test: "TestO2_NobodyDeletesByAForeignPosition", Needs: Postgres,
		},
		{
			Name: "drop-past-a-lagging-group", Breaks: []string{"O2", "R8"},
			Change:  "a range is dropped that a group has not read",
			File:    "outbox/pgoutbox/retention.go",
			Old:     `			kept = true`,
			New:     `			kept = false`,
			Package: "outbox/pgoutbox", Test: "TestO2_EverySlotCounts", Needs: Postgres,
		},
		{
			Name: "drop-without-a-lock", Breaks: []string{"O2", "R8"},
			Change:  "a range is looked at without keeping writers out until it is dropped",
			File:    "outbox/pgoutbox/retention.go",
			Old:     `"LOCK TABLE {range} IN SHARE MODE"`,
			New:     `"LOCK TABLE {range} IN ACCESS SHARE MODE"`,
			Package: "outbox/pgoutbox", Test: "TestO2_DropWaits_ForWritersOfTheRange", Needs: Postgres,
		},
		{
			Name: "open-window-pins-nothing", Breaks: []string{"O2", "R8"},
			Change:  "what the newest window holds past its last row does not count",
			File:    "outbox/pgoutbox/sql/range_pins.sql",
			Old:     `OR n.last < (SELECT max(o.seq) FROM {range} o)`,
			New:     `OR false`,
			Package: "outbox/pgoutbox", Test: "TestO2_NothingGoesUnread", Needs: Postgres,
		},
		{
			Name: "delete-what-is-not-settled", Breaks: []string{"O2", "R8"},
			Change:  "rows of a window are deleted before they are settled",
			File:    "outbox/pgoutbox/sql/may_go.sql",
			Old:     `(c.seq <= n.last OR`,
			New:     `(c.seq >= n.last OR`,
			Package: "outbox/pgoutbox", Test: "TestO2_NoDDL", Needs: Postgres,
		},
		{
			Name: "group-that-never-read-pins-nothing", Breaks: []string{"O2", "R8"},
			Change:  "history is dropped that nobody has read yet",
			File:    "outbox/pgoutbox/retention.go",
			Old:     `if err == nil && (kept || !some) {`,
			New:     `if err == nil && (kept || !some && group != "") {`,
			Package: "outbox/pgoutbox", Test: "TestO2_NothingGoesUnread", Needs: Postgres,
		},
		{
			Name: "range-in-use-stays-open", Breaks: []string{"R8"},
			Change:  "a range that is not full is never closed, so that nothing of it goes",
			File:    "outbox/pgoutbox/partitions_close.go",
			Old:     `if due, err := r.due(ctx, p); err != nil || !due {`,
			New:     `if due, err := r.due(ctx, p); err != nil || !due || p.To > 0 {`,
			Package: "outbox/pgoutbox", Test: "TestO2_RetentionOfAQuietService", Needs: Postgres,
		},
		{
			Name: "sequence-is-moved-under-a-producer", Breaks: []string{"O2", "O5"},
			Change:  "the sequence is moved while producers may draw numbers from it",
			File:    "outbox/pgoutbox/partitions_close.go",
			Old:     `IN SHARE ROW EXCLUSIVE MODE`,
			New:     `IN ACCESS SHARE MODE`,
			Package: "outbox/pgoutbox", Test: "TestO2_RangeWithAWriterIsNotClosed", Needs: Postgres,
		},
		{
			Name: "closing-hides-that-history-went-back", Breaks: []string{"O2"},
			Change:  "the sequence is moved past a position that it contradicts",
			File:    "outbox/pgoutbox/partitions_close.go",
			Old:     `highest > last || problem {`,
			New:     `highest < 0 {`,
			Package: "outbox/pgoutbox", Test: "TestO2_NobodyDeletesByAForeignPosition", Needs: Postgres,
		},
		{
			Name: "view-of-the-pending-is-planned-dear", Breaks: []string{"O15"},
			Change:  "the planner takes a look at what is pending for a walk of the log",
			File:    "outbox/pgoutbox/migrations/00004_cheap_views.sql",
			Old:     ` AND o.xid <= (SELECT '18446744073709551615'::xid8)`,
			New:     ` AND o.xid IS NOT NULL`,
			Package: "outbox/pgoutbox", Test: "TestO15_ViewsArePlannedCheap", Needs: Postgres,
		},
	}
}

// delayMutants break messages that wait for their time, and replay.
func delayMutants() []Mutant {
	return []Mutant{
		{
			Name: "delayed-before-its-time", Breaks: []string{"O14"},
			Change:  "a delayed message is sent before it is due",
			File:    "outbox/pgoutbox/sql/delayed_due.sql",
			Old:     `AND not_before <= statement_timestamp()`,
			New:     `AND not_before <= statement_timestamp() + interval '1 day'`,
			Package: "outbox/pgoutbox", Test: "TestO14_DelayedIsSentAtItsTime", Needs: Postgres,
		},
		{
			Name: "delayed-does-not-lock-its-key", Breaks: []string{"O5"},
			Change:  "a delayed message enters the log while its key is locked",
			File:    "outbox/pgoutbox/delayed_promote.go",
			Old:     `if had[p.ob.wholeBox] && had[lock] {`,
			New:     `if had[p.ob.wholeBox] || !had[lock] {`,
			Package: "outbox/pgoutbox", Test: "TestO5_DelayedTakesItsPlaceWhenDue", Needs: Postgres,
		},
		{
			Name: "replay-changes-ids", Breaks: []string{"O4"},
			Change:  "a replayed record has another id",
			File:    "outbox/replay/send.go",
			Old:     `records[i].Topic = r.cfg.Topic(w.record)`,
			New:     `records[i].Topic, records[i].ID = r.cfg.Topic(w.record), w.record.ID+"'"`,
			Package: "outbox/replay", Test: "TestO4_O5_Replay",
		},
		{
			Name: "replay-goes-past-a-failure", Breaks: []string{"O2"},
			Change:  "a replay resumes behind a record that was not delivered",
			File:    "outbox/replay/send.go",
			Old:     `	if len(left) > 0 {`,
			New:     `	if len(left) > len(records) {`,
			Package: "outbox/replay", Test: "TestO2_ReplayFailures",
		},
	}
}
