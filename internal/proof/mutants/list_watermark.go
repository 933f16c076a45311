package mutants

// watermarkMutants break the inbox of positions.
func watermarkMutants() []Mutant {
	return []Mutant{
		{
			Name: "watermark-needs-the-next-offset", Breaks: []string{"I8"},
			Change:  "= for <= where the watermark is compared: a gap in the log stops the partition",
			File:    "inbox/pginbox/sql/watermark_claim.sql",
			Old:     `AND w.next_off <= $4::bigint`,
			New:     `AND w.next_off = $4::bigint`,
			Package: "inbox/pginbox", Test: "TestI8_MessagesDroppedByKafka", Needs: Postgres | Kafka,
		},
		{
			Name: "watermark-passes-a-gap", Breaks: []string{"I8"},
			Change:  "a message is processed although one before it was not",
			File:    "inbox/pginbox/sql/watermark_claim.sql",
			Old:     `AND w.next_off > $6::bigint`,
			New:     `AND $6::bigint IS NOT NULL`,
			Package: "inbox/pginbox", Test: "TestI8_GapIsNeverAcked", Needs: Postgres,
		},
		{
			Name: "watermark-goes-back", Breaks: []string{"I8", "I1"},
			Change:  "a zombie moves the watermark back",
			File:    "inbox/pginbox/sql/watermark_claim.sql",
			Old:     `AND w.next_off <= $4::bigint`,
			New:     `AND $4::bigint IS NOT NULL`,
			Package: "inbox/pginbox", Test: "TestI8_MonotoneUnderZombies", Needs: Postgres,
		},
		{
			Name: "watermark-stays-at-the-message", Breaks: []string{"I8", "I1"},
			Change:  "the watermark does not pass what was processed",
			File:    "inbox/pginbox/sql/watermark_claim.sql",
			Old:     `SET next_off = $4::bigint + 1`,
			New:     `SET next_off = $4::bigint`,
			Package: "inbox/pginbox", Test: "TestI8_LostAnswerToACommit", Needs: Postgres,
		},
		{
			Name: "gap-is-acked", Breaks: []string{"I8"},
			Change:  "a message behind one that was not processed counts as a duplicate",
			File:    "inbox/pginbox/watermark_keys.go",
			Old:     `	case *next > at.Offset:`,
			New:     `	case *next > at.Offset || *next <= at.Prev:`,
			Package: "inbox/pginbox", Test: "TestI8_GapIsNeverAcked", Needs: Postgres,
		},
		{
			Name: "changed-source-is-unknown", Breaks: []string{"I8"},
			Change:  "a topic that was made again is not told from a new one",
			File:    "inbox/pginbox/watermark_keys.go",
			Old:     `	case next == nil && current != nil && *current != at.Source:`,
			New:     `	case next == nil && current != nil && *current == at.Source:`,
			Package: "inbox/pginbox", Test: "TestI8_UnsoundSessionsAreRefused", Needs: Postgres,
		},
		{
			Name: "parallel-sessions-are-accepted", Breaks: []string{"I8"},
			Change:  "positions of a subscriber that delivers several messages at a time are accepted",
			File:    "inbox/pginbox/watermark_keys.go",
			Old:     `	case !at.Serial:`,
			New:     `	case at.Serial && at.Offset < 0:`,
			Package: "inbox/pginbox", Test: "TestI8_UnsoundSessionsAreRefused", Needs: Postgres,
		},
		{
			Name: "broker-says-where-to-read-on", Breaks: []string{"I8"},
			Change:  "the broker's offset counts, not what is remembered",
			File:    "inbox/pginbox/watermark_assign.go",
			Old:     `p.next, p.isNew = next, !ok`,
			New:     `p.next, p.isNew = p.From+0*next, !ok`,
			Package: "inbox/pginbox", Test: "TestI8_AssignedReadsOnWhereTheDatabaseSays", Needs: Postgres,
		},
		{
			Name: "consumer-with-two-memories", Breaks: []string{"I8"},
			Change:  "a consumer has an inbox of ids and one of positions",
			File:    "inbox/pginbox/watermark_assign.go",
			Old:     `	if err == nil && hasIDs {`,
			New:     `	if err != nil && hasIDs {`,
			Package: "inbox/pginbox", Test: "TestI8_OneInboxAConsumer", Needs: Postgres,
		},
	}
}
