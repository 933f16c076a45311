package mutants

// claimMutants break the claim on PostgreSQL.
func claimMutants() []Mutant {
	return []Mutant{
		{
			Name: "open-rows-are-an-unknown-outcome", Breaks: []string{"I4"},
			Change:  "a handler that leaves rows open has an outcome that is unknown, and no policy deals with it",
			File:    "inbox/internal/pgclaim/pool_unit.go",
			Old:     `u.Conn.PgConn().IsBusy()`,
			New:     `u.Conn.PgConn() == nil`,
			Package: "inbox/pginbox", Test: "TestI4_OpenRows", Needs: Postgres,
		},
		{
			Name: "numbers-of-consumers-from-the-sequence", Breaks: []string{"S13"},
			Change:  "the number of a consumer is drawn from the sequence, which gives nothing back",
			File:    "inbox/internal/pgschema/migrations/00001_inbox.sql",
			Old:     `INSERT INTO @{_consumers} (id, name) OVERRIDING SYSTEM VALUE VALUES (free, consumer) RETURNING`,
			New:     `INSERT INTO @{_consumers} (name) VALUES (consumer) RETURNING`,
			Package: "inbox/pginbox", Test: "TestS13_NumbersOfConsumersComeBack", Needs: Postgres,
		},
		{
			Name: "attempts-as-the-database-writes-times", Breaks: []string{"I4"},
			Change:  "the times of attempts are read in the database's DateStyle",
			File:    "inbox/internal/pgpark/attempts.go",
			Old:     `err := pgpin.On{DB: conn}.QueryRow(ctx, s.sql["attempt_fail"]`,
			New:     `_ = pgpin.On{}; err := conn.QueryRow(ctx, s.sql["attempt_fail"]`,
			Package: "inbox/pginbox", Test: "TestI4_SettingsOfTheDatabase", Needs: Postgres,
		},
		{
			Name: "hidden-ids-are-in-work", Breaks: []string{"I3"},
			Change:  "an inbox of which row level security hides rows takes messages",
			File:    "inbox/internal/pgclaim/consumer.go",
			Old:     `case partly != "":`,
			New:     `case partly == "none":`,
			Package: "inbox/pginbox", Test: "TestI3_RowLevelSecurityIsRefused", Needs: Postgres,
		},
		{
			Name: "maintenance-at-the-level-of-the-session", Breaks: []string{"I6"},
			Change:  "a statement of maintenance runs at the default level of the sessions",
			File:    "internal/pgpin/committed.go",
			Old:     `return pgx.TxOptions{IsoLevel: pgx.ReadCommitted}`,
			New:     `return pgx.TxOptions{}`,
			Package: "inbox/pginbox", Test: "TestMaintenanceEndsNoDelivery", Needs: Postgres,
		},
		{
			Name: "refused-sessions-go-back-to-the-pool", Breaks: []string{"B11"},
			Change:  "a session that is refused for how it is set is handed to the next delivery",
			File:    "inbox/internal/pgclaim/handle.go",
			Old:     `	if unfit(err) {`,
			New:     `	if err == nil {`,
			Package: "inbox/pginbox", Test: "TestB11_RefusedSessionLeavesThePool/synchronous_commit_=_off/pgx", Needs: Postgres,
		},
		{
			Name: "inbox-forgets-by-any-clock", Breaks: []string{"I7"},
			Change:  "maintenance of the inbox believes a clock that has jumped",
			File:    "inbox/pginbox/maintenance_steps.go",
			Old:     `r.clock.Look(time.UnixMilli(r.state.now)); err != nil {`,
			New:     `r.clock.Look(time.UnixMilli(r.state.now)); err != nil && false {`,
			Package: "inbox/pginbox", Test: "TestI7_ClockThatJumps", Needs: Postgres,
		},
		{
			Name: "floor-rises-at-once", Breaks: []string{"I7"},
			Change:  "clocks that are wrong together raise the floor by a month at once",
			File:    "internal/clocks/clocks.go",
			Old:     `if to.Sub(from) > most {`,
			New:     `if false {`,
			Package: "inbox/pginbox", Test: "TestI7_FloorRisesSlowly", Needs: Postgres,
		},
		{
			Name: "a-jump-is-a-clock", Breaks: []string{"I7"},
			Change:  "a clock that has jumped by less than an hour is believed",
			File:    "internal/clocks/clocks.go",
			Old:     `<= min(grace+passed/2, apart)`,
			New:     `<= apart`,
			Package: "internal/clocks", Test: "TestWatch",
		},
		{
			Name: "claim-without-try-lock", Breaks: []string{"I5"},
			Change:  "a concurrent duplicate waits inside the index, and holds its connection",
			File:    "inbox/pginbox/sql/claim.sql",
			Old:     `WHERE pg_try_advisory_xact_lock($3::bigint)`,
			New:     `WHERE $3::bigint IS NOT NULL`,
			Package: "inbox/pginbox", Test: "TestInbox/I5_LoserDoesNotWaitForTheWinner", Needs: Postgres,
		},
		{
			Name: "claim-without-on-conflict", Breaks: []string{"I1"},
			Change:  "a duplicate is an error",
			File:    "inbox/pginbox/sql/claim.sql",
			Old:     "ON CONFLICT DO NOTHING\n",
			New:     "\n",
			Package: "inbox/pginbox", Test: "TestInbox/I1_RedeliveryAfterCommitIsADuplicate", Needs: Postgres,
		},
		{
			Name: "claim-takes-duplicates", Breaks: []string{"I1"},
			Change:  "the claim of a message that was processed succeeds",
			File:    "inbox/pginbox/sql/claim.sql",
			Old:     "ON CONFLICT DO NOTHING\n",
			New:     "ON CONFLICT (consumer, id) DO UPDATE SET id = EXCLUDED.id\n",
			Package: "inbox/pginbox", Test: "TestInbox/I1_RedeliveryAfterCommitIsADuplicate", Needs: Postgres,
		},
		{
			Name: "locked-is-a-duplicate", Breaks: []string{"I1", "I3"},
			Change:  "a message whose lock another transaction holds is acknowledged",
			File:    "inbox/pginbox/claim.go",
			Old:     "return driver.Busy, nil\n	}\n}\n\n// lookInRange",
			New:     "return driver.Duplicate, nil\n	}\n}\n\n// lookInRange",
			Package: "inbox/pginbox", Test: "TestInbox/I3_BusyIsNotAcked", Needs: Postgres,
		},
		{
			Name: "inbox-commits-asynchronously", Breaks: []string{"I1"},
			Change:  "an effect is acknowledged that a crash forgets",
			File:    "inbox/internal/pgclaim/handle.go",
			Old:     `case err == nil && setting != Async:`,
			New:     `case err == nil && setting != "":`,
			Package: "inbox/pginbox", Test: "TestB11_AsynchronousCommitIsRefused", Needs: Postgres,
		},
	}
}

// unitMutants break what is stored with a claim, and behind one that was parked.
func unitMutants() []Mutant {
	return []Mutant{
		{
			Name: "transaction-that-ended-is-acked", Breaks: []string{"I3"},
			Change:  "a transaction that the handler has ended by a statement counts as committed",
			File:    "inbox/internal/pgclaim/pool_unit.go",
			Old:     `if ended && !errors.Is(err, pgx.ErrTxClosed) {`,
			New:     `if ended && err != nil && !errors.Is(err, pgx.ErrTxClosed) {`,
			Package: "inbox/pginbox", Test: "TestI3_TransactionEndedByAStatement", Needs: Postgres,
		},
		{
			Name: "pipeline-runs-duplicates", Breaks: []string{"I1"},
			Change:  "a duplicate does not end the pipeline of a queued handler",
			File:    "inbox/pginbox/sql/claim_or_fail.sql",
			Old:     `($3::bigint))::int = 1`,
			New:     `($3::bigint))::int = 1 ON CONFLICT DO NOTHING`,
			Package: "inbox/pginbox", Test: "TestI1_Queued", Needs: Postgres,
		},
		{
			Name: "redrive-runs-twice", Breaks: []string{"I1"},
			Change:  "a redriven message is not deleted in the transaction of its handler",
			File:    "inbox/internal/pgpark/sql/redrive_claim.sql",
			Old:     "  DELETE FROM @{_parked}\n",
			New:     "  UPDATE @{_parked} SET last_at = last_at\n",
			Package: "inbox/pginbox", Test: "TestFailures/I1_RedriveTakesEffectOnce", Needs: Postgres,
		},
		{
			Name: "attempts-roll-back", Breaks: []string{"I4"},
			Change:  "an attempt leaves no trace where it does not end well",
			File:    "inbox/internal/pgpark/sql/attempt.sql",
			Old:     `DO UPDATE SET attempts = a.attempts + 1,`,
			New:     `DO UPDATE SET attempts = a.attempts,`,
			Package: "inbox/pginbox", Test: "TestFailures/I4_AttemptsSurviveTheRollback", Needs: Postgres,
		},
		{
			Name: "follower-passes-the-end-of-a-redrive", Breaks: []string{"I1"},
			Change:  "a message is stored behind one that is not parked any more",
			File:    "inbox/internal/pgpark/sql/park_head.sql",
			Old:     `SELECT EXISTS (`,
			New:     `SELECT true OR EXISTS (`,
			Package: "inbox/pginbox", Test: "TestFailures/I1_FollowerMeetsTheEndOfARedrive", Needs: Postgres,
		},
	}
}

// rangeMutants break what the inbox forgets.
func rangeMutants() []Mutant {
	return []Mutant{
		{
			Name: "too-old-is-acked-in-silence", Breaks: []string{"I7"},
			Change:  "a message older than what is remembered is acknowledged",
			File:    "inbox/pginbox/store.go",
			Old:     `if s.tooOld == TooOldDrop {`,
			New:     `if s.tooOld != TooOldProcess {`,
			Package: "inbox/pginbox", Test: "TestI7_RedeliveryBelowTheFloor", Needs: Postgres,
		},
		{
			Name: "ids-from-the-future", Breaks: []string{"I7"},
			Change:  "an id ahead of the database's clock is remembered",
			File:    "inbox/pginbox/place.go",
			Old:     `ahead > r.maxAhead {`,
			New:     `ahead > 1000*r.maxAhead {`,
			Package: "inbox/pginbox", Test: "TestI7_TooNewIsRefused", Needs: Postgres,
		},
		{
			Name: "looking-registers-consumers", Breaks: []string{"I1"},
			Change:  "who asks for the parked messages of a misspelt consumer registers it",
			File:    "inbox/internal/pgclaim/admin.go",
			Old:     `			number, err := about.Known(ctx, conn)`,
			New:     `			number, err := about.Registered(ctx, conn)`,
			Package: "inbox/pginbox", Test: "TestLookingRegistersNobody", Needs: Postgres,
		},
		{
			Name: "parked-nulls-become-empty", Breaks: []string{"N4"},
			Change:  "a payload that is null is parked as an empty one",
			File:    "inbox/internal/parkjson/metadata.go",
			Old:     `	if m.Payload == nil {`,
			New:     `	if m.Payload == nil && len(m.Metadata) < 0 {`,
			Package: "inbox/pginbox", Test: "TestFailures/N4_HostileMessagesCanBeParked", Needs: Postgres,
		},
		{
			Name: "parked-ids-in-a-btree", Breaks: []string{"N4"},
			Change:  "the index of parked messages holds their ids",
			File:    "inbox/internal/pgschema/migrations/00001_inbox.sql",
			Old:     `USING hash (message_id)`,
			New:     `(message_id)`,
			Package: "inbox/pginbox", Test: "TestFailures/N4_HostileMessagesCanBeParked", Needs: Postgres,
		},
		{
			Name: "insert-triggers-are-allowed", Breaks: []string{"I1"},
			Change:  "nobody looks for triggers that suppress the insert of an id",
			File:    "inbox/internal/pgclaim/sql/hidden.sql",
			Old:     `tgtype & 7 = 7`,
			New:     `tgtype & 7 = 8`,
			Package: "inbox/pginbox", Test: "TestI1_SuppressedInsertIsRefused", Needs: Postgres,
		},
		{
			Name: "pipeline-does-not-count-its-claim", Breaks: []string{"I1"},
			Change:  "a pipeline goes on although its claim has inserted nothing",
			File:    "inbox/pginbox/pipeline_unit.go",
			Old:     `claimed.RowsAffected() != 1`,
			New:     `claimed.RowsAffected() > 1`,
			Package: "inbox/pginbox", Test: "TestI1_QueuedCountsItsClaim", Needs: Postgres,
		},
	}
}
