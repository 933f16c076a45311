package mutants

// sqlInboxMutants break rules of the inbox on database/sql.
func sqlInboxMutants() []Mutant {
	const folder = "inbox/sqlinbox"
	return []Mutant{
		{
			Name: "sql-claim-by-the-index-alone", Breaks: []string{"I5"},
			Change:  "racers meet in the index of ids, where the server ends some of them",
			File:    folder + "/sql/claim.sql",
			Old:     `= ?) @{skip_locked}`,
			New:     `= ?)`,
			Package: sqlInboxTests, Test: inboxOnServer + "I5_RacersAfterARollback", Needs: MariaDB,
		},
		{
			Name: "sql-claims-know-no-floor", Breaks: []string{"I7"},
			Change:  "an id that is older than what is remembered is claimed",
			File:    folder + "/sql/claim.sql",
			Old:     `AND floor <= ? AND`,
			New:     `AND floor <= ? + 9000000000000000 AND`,
			Package: sqlInboxTests, Test: inboxOnServer + "I7_ForgottenNeverRuns", Needs: MariaDB,
		},
		{
			Name: "sql-busy-is-a-duplicate", Breaks: []string{"I3"},
			Change:  "a message that another delivery has in hand is acknowledged",
			File:    folder + "/store.go",
			Old:     `	return driver.Busy, nil`,
			New:     `	return driver.Duplicate, nil`,
			Package: sqlInboxTests, Test: inboxOnServer + "I3_NotAckedWhileAnotherWrites", Needs: MariaDB,
		},
		{
			Name: "sql-look-believes-the-session", Breaks: []string{"I3"},
			Change:  "why a claim found nothing is looked up at the level of whatever session the pool hands out",
			File:    "internal/sqlstore/session.go",
			Old:     `		return s.Look(ctx, query)`,
			New:     `		return s.Describe(query(s.DB))`,
			Package: sqlInboxTests, Test: "TestI3_UncommittedIsNoDuplicate/MariaDB/alone", Needs: MariaDB,
		},
		{
			Name: "sql-shared-cache-is-believed", Breaks: []string{"I3"},
			Change:  "a connection to SQLite is asked although it shows what others have not committed",
			File:    "internal/sqlstore/session.go",
			Old:     `		if err := refuse(ctx, conn, Needs{}, readsUncommitted()); err != nil {`,
			New:     `		if err := error(nil); err != nil {`,
			Package: sqlInboxTests, Test: "TestI3_SharedCacheIsNotBelieved",
		},
		{
			Name: "sql-refused-sessions-go-back-to-the-pool", Breaks: []string{"B11"},
			Change:  "a session that takes no writes is handed to the next delivery",
			File:    folder + "/unit.go",
			Old:     `	if sqlstore.Unfit(err) {`,
			New:     `	if err == nil {`,
			Package: sqlInboxTests, Test: "TestB11_RefusedSessionLeavesThePool/MariaDB/SET_SESSION_TRANSACTION_READ_ONLY/plain", Needs: MariaDB,
		},
		{
			Name: "sql-duplicates-are-not-fenced", Breaks: []string{"I3"},
			Change:  "a duplicate is acknowledged although what it repeats is not durable",
			File:    folder + "/fence.go",
			Old:     `if err != nil || !facts.Fence {`,
			New:     `if facts.Fence = false; err != nil || !facts.Fence {`,
			Package: sqlInboxTests, Test: "TestB11_ADuplicateIsDurable", Needs: MySQL,
		},
		{
			Name: "sql-redrive-leaves-a-row-that-is-looked-at", Breaks: []string{"I4"},
			Change:  "an attempt is counted and not made, since another process looks for the next message",
			File:    folder + "/redrive.go",
			Old:     `s.isPicked(ctx, r); err != nil || !picked {`,
			New:     `s.isPicked(ctx, r); err != nil || picked || !picked {`,
			Package: sqlInboxTests, Test: "TestRedrive_OutlastsALook/MariaDB", Needs: MariaDB,
		},
		{
			Name: "sql-redrive-waits-for-a-handler", Breaks: []string{"O7"},
			Change:  "a process that has stalled waits for the handler of one that took its message over",
			File:    folder + "/sql/redrive_claim.sql",
			Old:     `@{skip_locked}`,
			New:     `@{for_update}`,
			Package: sqlInboxTests, Test: "TestRedrive_WaitsForNoHandler/MariaDB", Needs: MariaDB,
		},
		{
			Name: "sql-an-ended-transaction-commits", Breaks: []string{"I2"},
			Change:  "nobody looks whether the transaction is still the one of the claim",
			File:    folder + "/unit.go",
			Old:     `if err := u.proof(ctx, u.tx); err != nil {`,
			New:     `if err := error(nil); err != nil {`,
			Package: sqlInboxTests, Test: "TestI2_EndedTransactionIsNoticed/SQLite/by_a_statement",
		},
	}
}
