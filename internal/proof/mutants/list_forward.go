package mutants

// forwardMutants break how the table of Watermill's forwarder is read.
func forwardMutants() []Mutant {
	return []Mutant{
		{
			Name: "forward-in-the-forwarders-order", Breaks: []string{"O5"},
			Change:  "the table is read in the order of the transactions, as the forwarder does",
			File:    "outbox/wmforward/sql/list.sql",
			Old:     `ORDER BY k."offset"`,
			New:     `ORDER BY k.transaction_id, k."offset"`,
			Package: "outbox/wmforward", Test: "TestConformance/O5_EarlyTransactionLateKey", Needs: Postgres,
		},
		{
			Name: "forward-forgets-transactions-under-way", Breaks: []string{"O2"},
			Change:  "rows of transactions that were under way are not looked up",
			File:    "outbox/wmforward/sql/list.sql",
			Old:     `WHERE pg_visible_in_snapshot(x, $2::pg_snapshot)) k`,
			New:     `WHERE pg_visible_in_snapshot(x, $2::pg_snapshot) AND false) k`,
			Package: "outbox/wmforward", Test: "TestConformance/O2_LateCommitterIsRead", Needs: Postgres,
		},
		{
			Name: "forwarder-is-not-fenced", Breaks: []string{"O10"},
			Change:  "a forwarder that still runs goes on beside the relay",
			File:    "outbox/wmforward/takeover.go",
			Old:     `if err != nil || s.cfg.Shadow || !f.offsets {`,
			New:     `if err != nil || s.cfg.Shadow || f.offsets {`,
			Package: "outbox/wmforward", Test: "TestForwarder", Needs: Postgres,
		},
		{
			Name: "take-over-without-the-lease", Breaks: []string{"O9"},
			Change:  "who has lost the lease starts the group",
			File:    "outbox/wmforward/sql/start.sql",
			Old:     `AND l.owner = $6 AND l.epoch = $7`,
			New:     `AND $6 <> '' AND $7 > 0`,
			Package: "outbox/wmforward", Test: "TestO9_LostLeaseDoesNotFenceTheForwarder", Needs: Postgres,
		},
		{
			Name: "hand-back-past-open-transactions", Breaks: []string{"O2"},
			Change:  "the forwarder is put behind what transactions under way may still bring",
			File:    "outbox/wmforward/sql/safe.sql",
			Old:     `least(f.xid, pg_snapshot_xmin(now)) AS xid`,
			New:     `coalesce(f.xid, pg_snapshot_xmax(now)) AS xid`,
			Package: "outbox/wmforward", Test: "TestO2_TakeOverAfterHandBackUnderAnOpenTransaction", Needs: Postgres,
		},
		{
			Name: "ids-in-errors-as-they-are", Breaks: []string{"O6"},
			Change:  "a row's id is in the error of a malformed row as its producer wrote it",
			File:    "outbox/wmforward/guard.go",
			Old:     `"%w %.200q: %s", errMalformed`,
			New:     `"%w %s: %s", errMalformed`,
			Package: "outbox/wmforward", Test: "TestO6_MalformedRowFailsForGood",
		},
	}
}
