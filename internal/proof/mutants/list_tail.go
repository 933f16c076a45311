package mutants

// tailMutants break the conditions under which a tail is trusted.
func tailMutants() []Mutant {
	const check = "outbox/pgoutbox/sql/tail_check.sql"
	return []Mutant{
		{
			Name: "tail-of-a-standby", Breaks: []string{"O2"},
			Change:  "a tail follows a server that is a standby",
			File:    check,
			Old:     `WHEN pg_is_in_recovery() THEN`,
			New:     `WHEN false THEN`,
			Package: "outbox/pgoutbox", Test: "TestTail_CheckOnAStandby", Needs: Postgres,
		},
		{
			Name: "tail-beside-synchronous-standbys", Breaks: []string{"O3"},
			Change:  "a tail brings rows whose commit waits for a standby",
			File:    check,
			Old:     `WHEN current_setting('synchronous_standby_names') <> ''`,
			New:     `WHEN false`,
			Package: "outbox/pgoutbox", Test: "TestTail/open_transaction_elsewhere", Needs: Postgres,
		},
		{
			Name: "tail-by-the-wall-clock", Breaks: []string{"O2"},
			Change:  "a server counts as silent, or not, by the wall clock",
			File:    "outbox/internal/pgwal/stream.go",
			Old:     `s.heard.Store(int64(clocks.Passed()))`,
			New:     `s.heard.Store(time.Now().UnixNano())`,
			Package: "outbox/internal/pgwal", Test: "TestStream_ClockThatJumps",
		},
		{
			Name: "tail-without-inserts", Breaks: []string{"O5"},
			Change:  "a tail believes a publication that has no inserts",
			File:    check,
			Old:     `WHEN NOT p.pubinsert THEN`,
			New:     `WHEN false THEN`,
			Package: "outbox/pgoutbox", Test: "TestTail/check", Needs: Postgres,
		},
		{
			Name: "tail-under-the-names-of-ranges", Breaks: []string{"O5"},
			Change:  "a tail believes a publication that has the rows under the names of ranges",
			File:    check,
			Old:     `WHEN NOT p.pubviaroot THEN`,
			New:     `WHEN false THEN`,
			Package: "outbox/pgoutbox", Test: "TestTail/check", Needs: Postgres,
		},
		{
			Name: "tail-of-filtered-rows", Breaks: []string{"O5"},
			Change:  "a tail believes a publication that leaves rows out",
			File:    check,
			Old:     `AND (pg_catalog.to_jsonb(r) ->> 'prqual' IS NOT NULL OR`,
			New:     `AND (false OR`,
			Package: "outbox/pgoutbox", Test: "TestTail/check", Needs: Postgres,
		},
		{
			Name: "tail-of-another-server", Breaks: []string{"O3"},
			Change:  "a tail sends rows of another database",
			File:    "outbox/pgoutbox/tail.go",
			Old:     `	if err == nil && own != server {`,
			New:     `	if err == nil && own == "" {`,
			Package: "outbox/pgoutbox", Test: "TestTail/another_database", Needs: Postgres,
		},
		{
			Name: "tail-owes-nothing", Breaks: []string{"O5"},
			Change:  "a tail that has missed rows goes on",
			File:    "outbox/pgoutbox/tail_stream.go",
			Old:     `		s.owed[seq] = now`,
			New:     `		s.owed[seq] = now.Add(patience)`,
			Package: "outbox/pgoutbox", Test: "TestTail_Overdue",
		},
		{
			Name: "tail-columns-by-place", Breaks: []string{"O1"},
			Change:  "a tail takes the log's columns by their places",
			File:    "outbox/pgoutbox/tail_stream.go",
			Old:     `slices.Index(columns, name); s.places[i] < 0`,
			New:     `slices.Index(columns, columns[i]); name == ""`,
			Package: "outbox/pgoutbox", Test: "TestTail/columns_changed", Needs: Postgres,
		},
	}
}

// debeziumMutants break the rules that keep messages on the way from or to Debezium.
func debeziumMutants() []Mutant {
	const (
		pkg       = "outbox/debezium"
		published = pkg + "/sql/published.sql"
		slot      = pkg + "/publication.go"
	)
	return []Mutant{
		{
			Name: "connector-without-inserts", Breaks: []string{"O2"},
			Change:  "a connector takes over with a publication that has no inserts",
			File:    published,
			Old:     `WHEN NOT p.pubinsert THEN`,
			New:     `WHEN false THEN`,
			Package: pkg, Test: "TestO2_PrepareConnector_RefusesAPublication/without_inserts", Needs: Postgres,
		},
		{
			Name: "connector-of-filtered-rows", Breaks: []string{"O2"},
			Change:  "a connector takes over with a publication that leaves rows out",
			File:    published,
			Old:     `AND (to_jsonb(r) ->> 'prqual' IS NOT NULL OR`,
			New:     `AND (false OR`,
			Package: pkg, Test: "TestO2_PrepareConnector_RefusesAPublication/filters_rows", Needs: Postgres,
		},
		{
			Name: "connector-under-the-names-of-ranges", Breaks: []string{"O2"},
			Change:  "a connector takes over with a publication that has the rows under the names of ranges",
			File:    published,
			Old:     `WHEN NOT p.pubviaroot AND`,
			New:     `WHEN false AND`,
			Package: pkg, Test: "TestO2_PrepareConnector_RefusesAPublication/under_the_names_of_ranges", Needs: Postgres,
		},
		{
			Name: "connector-with-an-older-slot", Breaks: []string{"O2"},
			Change:  "a slot that is older than its publication is kept",
			File:    slot,
			Old:     `	if err == nil && !is && !none {`,
			New:     `	if err == nil && is && none && !none {`,
			Package: pkg, Test: "TestO2_PrepareConnector_RefusesASlotThatIsOlderThanItsPublication", Needs: Postgres,
		},
		{
			Name: "connector-with-a-snapshot", Breaks: []string{"O10"},
			Change:  "a connector takes over with a snapshot of the table",
			File:    slot,
			Old:     `mode != "no_data" && mode != "never"`,
			New:     `mode == ""`,
			Package: pkg, Test: "TestPrepareConnector_RefusesASnapshot", Needs: Postgres,
		},
		{
			Name: "connector-of-another-plugin", Breaks: []string{"O2"},
			Change:  "a slot of another plugin is taken for a connector's",
			File:    pkg + "/slot.go",
			Old:     `plugin != "pgoutput"`,
			New:     `plugin == ""`,
			Package: pkg, Test: "TestSlot_OfAnotherPlugin", Needs: Postgres,
		},
		{
			Name: "connector-with-rows-left", Breaks: []string{"O2"},
			Change:  "a connector that is stopped is taken for one that has sent all",
			File:    pkg + "/absent.go",
			Old:     `		if err != nil || rows == 0 {`,
			New:     `		if err != nil || rows >= 0 {`,
			Package: pkg, Test: "TestAwaitConnector_OfOneThatIsStopped", Needs: Postgres,
		},
		{
			Name: "relay-awaited-by-one-window", Breaks: []string{"O5"},
			Change:  "a relay is taken to have sent all when the next window is open",
			File:    pkg + "/awaited.go",
			Old:     `s.Window >= window+2`,
			New:     `s.Window >= window+1`,
			Package: pkg, Test: "TestAwaited",
		},
		{
			Name: "connector-that-masks", Breaks: []string{"O1"},
			Change:  "a relay takes the place of a connector that masks columns",
			File:    pkg + "/connector.go",
			Old:     `		case changes && value != "":`,
			New:     `		case changes && value == "":`,
			Package: pkg, Test: "TestFromConnector_RefusesWhatLeatDoesNot",
		},
	}
}
