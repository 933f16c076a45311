package mutants

// heldMutants break what is stored of records that are set aside.
func heldMutants() []Mutant {
	return []Mutant{
		{
			Name: "held-number-of-a-former-log", Breaks: []string{"O2"},
			Change:  "a record whose number one of a former log still has is passed over",
			File:    "outbox/internal/pgheld/sql/hold.sql",
			Old:     "DO UPDATE SET id = NULL WHERE h.id <> EXCLUDED.id",
			New:     "DO NOTHING",
			Package: "outbox/pgoutbox", Test: "TestO2_NumbersOfAFormerLog/held", Needs: Postgres,
		},
		{
			Name: "hold-does-not-move-the-position", Breaks: []string{"O6", "O10"},
			Change:  "records are set aside in a transaction that does not move the position",
			File:    "outbox/internal/pgheld/hold.go",
			Old:     `moves, err := to.QueueMove(b)`,
			New:     `moves, err := to.QueueMove(&pgx.Batch{})`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O2_HoldStoresThePosition", Needs: Postgres,
		},
		{
			Name: "dead-letters-are-not-kept", Breaks: []string{"O2"},
			Change:  "a record that is set aside for good is not stored",
			File:    "outbox/internal/pgheld/sql/hold.sql",
			Old:     `FROM m WHERE fate = 'dead'`,
			New:     `FROM m WHERE fate = 'gone'`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O6_DeadAndSkippedGoOn", Needs: Postgres,
		},
		{
			Name: "parked-records-come-due", Breaks: []string{"O6"},
			Change:  "a parked record is tried again when something joins its key",
			File:    "outbox/internal/pgheld/sql/settle.sql",
			Old:     `WHERE f.state = 'wait'`,
			New:     `WHERE f.state IN ('wait', 'parked')`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O6_ParkedIsNeverDue", Needs: Postgres,
		},
		{
			Name: "followers-do-not-wait", Breaks: []string{"O6"},
			Change:  "a record behind a held one of its key is due on its own",
			File:    "outbox/internal/pgheld/sql/hold.sql",
			Old:     `WHEN fate = 'wait' AND key IS NOT NULL THEN 'wait' ELSE 'retry' END`,
			New:     `WHEN fate = 'wait' AND key IS NULL THEN 'wait' ELSE 'retry' END`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O6_FollowersWait", Needs: Postgres,
		},
		{
			Name: "redriven-dead-pass-their-key", Breaks: []string{"O6"},
			Change:  "two records of one key are tried at the same time",
			File:    "outbox/internal/pgheld/sql/settle.sql",
			Old:     `SELECT seq, 'wait' FROM late) c`,
			New:     `SELECT seq, 'wait' FROM late WHERE false) c`,
			Package: "outbox/pgoutbox", Test: "TestO6_RedrivenDeadWhileTheFirstIsOnItsWay", Needs: Postgres,
		},
		{
			Name: "followers-are-orphaned", Breaks: []string{"O2"},
			Change:  "nothing wakes a record whose key was dropped before it",
			File:    "outbox/internal/pgheld/sql/settle.sql",
			Old:     `WHERE f.state = 'wait'`,
			New:     `WHERE f.state = 'wait' AND false`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O6_DroppedKeyHealsItself", Needs: Postgres,
		},
		{
			Name: "hold-takes-no-turn-with-people", Breaks: []string{"O2"},
			Change:  "relay and people change a key without a lock on its group",
			File:    "outbox/internal/pgheld/sql/lock.sql",
			Old:     `SELECT pg_advisory_xact_lock($1)`,
			New:     `SELECT $1::bigint`,
			Package: "outbox/internal/pgheld", Test: "TestO2_HoldAndDropTakeTurns", Needs: Postgres,
		},
		{
			Name: "held-copy-loses-its-time", Breaks: []string{"O4"},
			Change:  "a record that was set aside is sent with another time of the event",
			File:    "outbox/internal/pgheld/sql/due.sql",
			Old:     `SELECT h.seq, h.created_at, h.occurred_at, h.id`,
			New:     `SELECT h.seq, h.created_at, h.created_at, h.id`, //nolint:dupword // it is as it is
			Package: "outbox/pgoutbox", Test: "TestO4_HeldRecordsAreWhole", Needs: Postgres,
		},
		{
			Name: "retry-does-not-wait", Breaks: []string{"O6"},
			Change:  "a record is tried again before its time",
			File:    "outbox/internal/pgheld/sql/due.sql",
			Old:     `h.next_at <= now()`,
			New:     `h.next_at <= now() + interval '1 day'`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O6_RetryWaitsItsTime", Needs: Postgres,
		},
		{
			Name: "due-records-are-read-under-the-renewals-lock", Breaks: []string{"O14"},
			Change: "a renewal waits until the held records that are due were read",
			File:   "outbox/internal/pglog/session.go",
			Old:    `	if !s.writing.lockWithin(patience) {`,
			New: `	s.reading.Lock()
	defer s.reading.Unlock()
	if !s.writing.lockWithin(patience) {`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O14_RenewWaitsForNoRead", Needs: Postgres,
		},
		{
			Name: "due-records-have-no-bound-of-bytes", Breaks: []string{"N3"},
			Change:  "all held records that are due are fetched at once",
			File:    "outbox/internal/pgheld/sql/due.sql",
			Old:     `WHERE before < $6::bigint`,
			New:     `WHERE before < 1024 * $6::bigint`,
			Package: "outbox/pgoutbox", Test: "TestN3_DueFetchesNoMoreThanItReturns", Needs: Postgres,
		},
		{
			Name: "held-topics-in-a-btree", Breaks: []string{"N4"},
			Change:  "the index of held records has whole topics",
			File:    "outbox/pgoutbox/migrations/00001_outbox.sql",
			Old:     `(relay_group, left(topic, 255), next_at)`,
			New:     `(relay_group, topic, next_at)`,
			Package: "outbox/pgoutbox", Test: "TestN4_LongTopicsCanBeSetAside", Needs: Postgres,
		},
		{
			Name: "topics-away-by-their-prefix", Breaks: []string{"O6"},
			Change:  "a long topic counts as away if a topic that it begins with is",
			File:    "outbox/internal/pgheld/sql/due.sql",
			Old:     `WHERE length(t.prefix) = 255 OR t.prefix NOT IN`,
			New:     `WHERE t.prefix NOT IN`,
			Package: "outbox/pgoutbox", Test: "TestN4_LongTopicsCanBeSetAside", Needs: Postgres,
		},
		{
			Name: "the-empty-topic-selects-all", Breaks: []string{"O2"},
			Change:  "who redrives a record without a topic redrives all that is parked",
			File:    "outbox/internal/pgheld/request.go",
			Old:     `	return []any{s.Topic, s.Key}`,
			New:     `	return []any{orNull(s.Topic), s.Key}`,
			Package: "outbox/internal/pgheld", Test: "TestO2_TheEmptyTopicIsATopic", Needs: Postgres,
		},
	}
}
