package mutants

// costMutants make a message cost more than it should.
func costMutants() []Mutant {
	return []Mutant{
		{
			Name: "relay-logs-every-record", Breaks: []string{"cost"},
			Change:  "each record is logged at a level that is off",
			File:    "outbox/relay/sender_send.go",
			Old:     `	took := time.Since(began)`,
			New:     "	took := time.Since(began)\n	for i := range records {\n		r.log.DebugContext(ctx, \"sent\", slog.String(\"id\", records[i].ID))\n	}",
			Package: "outbox/relay", Test: "TestCount_Allocations",
		},
		{
			Name: "sink-allocates-every-text", Breaks: []string{"cost"},
			Change:  "each id and header of a Kafka record gets memory of its own",
			File:    "outbox/kafkasink/page.go",
			Old:     `	p.bytes = append(p.bytes, s...)`,
			New:     "	if s != \"\" {\n		return []byte(s)\n	}\n	p.bytes = append(p.bytes, s...)",
			Package: "outbox/kafkasink", Test: "TestCount_Allocations",
		},
		{
			Name: "rows-are-scanned-into-variables", Breaks: []string{"cost"},
			Change:  "the binary form of a row is not decoded as it is",
			File:    "outbox/pgoutbox/decode.go",
			Old:     `d.binaryForm = isBinary(rows.FieldDescriptions())`,
			New:     `d.binaryForm = isBinary(nil)`,
			Package: "outbox/pgoutbox", Test: "TestCount_Memory", Needs: Postgres,
		},
		{
			Name: "batch-waits-for-its-begin", Breaks: []string{"cost"},
			Change:  "a batch that could be sent as a whole waits for BEGIN and COMMIT",
			File:    "outbox/pgoutbox/in_batch.go",
			Old:     `	case waits:`,
			New:     `	case waits, all.Len() > 0:`,
			Package: "outbox/pgoutbox", Test: "TestCount_Server/RoundTrips", Needs: Postgres,
		},
		{
			Name: "index-more", Breaks: []string{"cost"},
			Change:  "the log has an index by topic, too",
			File:    "outbox/pgoutbox/migrations/00001_outbox.sql",
			Old:     `CREATE INDEX @{name:_xid_seq_idx} ON @{} (xid, seq);`,
			New:     "CREATE INDEX @{name:_xid_seq_idx} ON @{} (xid, seq);\nCREATE INDEX ON @{} (topic, created_at);",
			Package: "outbox/pgoutbox", Test: "TestCount_Server/WAL", Needs: Postgres,
		},
		{
			Name: "claim-waits-for-a-trip-more", Breaks: []string{"cost"},
			Change:  "a claim waits for a statement before its BEGIN",
			File:    "inbox/internal/pgclaim/pool.go",
			Old:     `	results := c.Conn.SendBatch(ctx, &c.batch)`,
			New:     "	if _, err := c.Conn.Exec(ctx, \"SELECT 1\"); err != nil {\n		return nil, err\n	}\n	results := c.Conn.SendBatch(ctx, &c.batch)",
			Package: "inbox/pginbox", Test: "TestCount_RoundTripsAndWAL", Needs: Postgres,
		},
		{
			Name: "doubt-does-not-grow", Breaks: []string{"cost"},
			Change:  "in a storm of duplicates one claim in a hundred takes its messages for new, however long the storm lasts",
			File:    "inbox/pginbox/fresh.go",
			Old:     `f.span = min(2*f.span, mostDoubt)`,
			New:     `f.span = doubtFor`,
			Package: "inbox/pginbox", Test: "TestFresh",
		},
	}
}
