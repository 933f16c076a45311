package mutants

// fenceMutants break what is written under a lease.
func fenceMutants() []Mutant {
	return []Mutant{
		{
			Name: "idle-sessions-are-ended", Breaks: []string{"O9"},
			Change:  "a relay's sessions keep the database's timeout of idle sessions",
			File:    "outbox/pgoutbox/sql/own.sql",
			Old:     `('idle_session_timeout', '0')`,
			New:     `('idle_session_timeout', current_setting('idle_session_timeout'))`,
			Package: "outbox/pgoutbox", Test: "TestO9_IdleSessionsAreKept", Needs: Postgres,
		},
		{
			Name: "times-as-the-database-writes-them", Breaks: []string{"O2"},
			Change:  "a statement on the application's pool reads times in the database's DateStyle",
			File:    "internal/pgpin/pgpin.go",
			Old:     `pg_catalog.set_config('DateStyle', 'ISO', true), `,
			New:     ``,
			Package: "outbox/pgoutbox", Test: "TestO2_SettingsOfTheDatabase", Needs: Postgres,
		},
		{
			Name: "renew-without-epoch", Breaks: []string{"O9"},
			Change:  "a renewal compares neither owner nor epoch",
			File:    "outbox/internal/pglease/sql/renew.sql",
			Old:     `AND owner = $3 AND epoch = $4`,
			New:     `AND $3 <> '' AND $4 > 0`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O9_LostLeaseIsFenced", Needs: Postgres,
		},
		{
			Name: "advance-without-epoch", Breaks: []string{"O9", "O12"},
			Change:  "a write of the position compares neither owner nor epoch",
			File:    "outbox/internal/pgwindow/sql/advance.sql",
			Old:     `AND l.owner = $5 AND l.epoch = $6`,
			New:     `AND $5 <> '' AND $6 > 0`,
			Package: "outbox/internal/pgwindow", Test: "TestO9_StaleWriterIsRefused", Needs: Postgres,
		},
		{
			Name: "advance-without-owner", Breaks: []string{"O9"},
			Change:  "a write of the position compares the epoch alone, which a crash can issue twice",
			File:    "outbox/internal/pgwindow/sql/advance.sql",
			Old:     `AND l.owner = $5 AND l.epoch = $6`,
			New:     `AND $5 <> '' AND l.epoch = $6`,
			Package: "outbox/internal/pgwindow", Test: "TestO9_EpochIssuedTwice", Needs: Postgres,
		},
		{
			Name: "open-without-epoch", Breaks: []string{"O9"},
			Change:  "a window is opened under a lease that is lost",
			File:    "outbox/internal/pgwindow/sql/open.sql",
			Old:     `AND l.owner = $5 AND l.epoch = $6`,
			New:     `AND $5 <> '' AND $6 > 0`,
			Package: "outbox/internal/pgwindow", Test: "TestO9_StaleWriterIsRefused", Needs: Postgres,
		},
		{
			Name: "raise-without-epoch", Breaks: []string{"O9"},
			Change:  "a floor is raised under a lease that is lost",
			File:    "outbox/internal/pgwindow/sql/raise.sql",
			Old:     `AND l.owner = $5 AND l.epoch = $6`,
			New:     `AND $5 <> '' AND $6 > 0`,
			Package: "outbox/internal/pgwindow", Test: "TestO9_RaiseIsFenced", Needs: Postgres,
		},
		{
			Name: "release-without-fence", Breaks: []string{"O9"},
			Change:  "who has lost the lease gives up its successor's",
			File:    "outbox/internal/pglease/sql/release.sql",
			Old:     `AND owner = $3 AND epoch = $4`,
			New:     `AND $3 <> '' AND $4 > 0`,
			Package: "outbox/internal/pgwindow", Test: "TestO9_StaleWriterIsRefused", Needs: Postgres,
		},
		{
			Name: "held-without-fence", Breaks: []string{"O9"},
			Change:  "who has lost the lease sets records aside",
			File:    "outbox/internal/pgheld/sql/fence.sql",
			Old:     `AND owner = $3 AND epoch = $4`,
			New:     `AND $3 <> '' AND $4 > 0`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O9_StaleEpochResolvesNothing", Needs: Postgres,
		},
	}
}

// leaseMutants break who may relay, and from where.
func leaseMutants() []Mutant {
	return []Mutant{
		{
			Name: "position-goes-back", Breaks: []string{"O12"},
			Change:  "a late write of the position is not refused",
			File:    "outbox/internal/pgwindow/sql/advance.sql",
			Old:     `AND p.last < $4`,
			New:     `AND $4 >= 0`,
			Package: "outbox/internal/pgwindow", Test: "TestO12_LatePositionWriteIsRefused", Needs: Postgres,
		},
		{
			Name: "live-lease-is-taken", Breaks: []string{"O9"},
			Change:  "a lease is taken that has not run out",
			File:    "outbox/internal/pgwindow/sql/chain_claim.sql",
			Old:     `l.lease_until <= clock_timestamp()`,
			New:     `l.lease_until <= 'infinity'`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O9_OneHolder", Needs: Postgres,
		},
		{
			Name: "expired-lease-is-not-taken", Breaks: []string{"O14"},
			Change:  "a lease that has run out is never taken over",
			File:    "outbox/internal/pglease/sql/claim.sql",
			Old:     `OR lease_until <= clock_timestamp())`,
			New:     `OR lease_until <= '-infinity')`,
			Package: "outbox/internal/pglease", Test: "TestO14_ExpiredLeaseIsTaken", Needs: Postgres,
		},
		{
			Name: "claim-commits-asynchronously", Breaks: []string{"O9"},
			Change:  "a lease is claimed by a commit that a crash forgets",
			File:    "outbox/internal/pglease/lease.go",
			Old:     `"SET LOCAL synchronous_commit = on"`,
			New:     `"SET LOCAL synchronous_commit = off"`,
			Package: "outbox/internal/pglease", Test: "TestO9_ClaimCommitsSynchronously", Needs: Postgres,
		},
		{
			Name: "settled-rows-are-read-again", Breaks: []string{"O10"},
			Change:  "a session begins at the start of the stored window",
			File:    "outbox/internal/pglog/progress.go",
			Old:     `p.read, p.done, p.stored = w.Last, w.Last, w.Last`, //nolint:dupword // it is as it is
			New:     `p.read, p.done, p.stored = 0, 0, 0`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O12_ReleaseKeepsTheExactPosition", Needs: Postgres,
		},
		{
			Name: "release-stores-no-position", Breaks: []string{"O10"},
			Change:  "the last page's position is not stored with the release",
			File:    "outbox/internal/pglog/session.go",
			Old:     `err := s.flush(ctx)`,
			New:     `var err error`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O10_NoRepeatsAcrossCleanStops", Needs: Postgres,
		},
		{
			Name: "early-again", Breaks: []string{"O10"},
			Change:  "a window hands out again what was sent early",
			File:    "outbox/internal/pglog/early.go",
			Old:     `			skip = append(skip, seq)`,
			New:     `			_ = append(skip, seq)`,
			Package: "outbox/internal/pglog", Test: "TestO10_WindowLeavesOutWhatWasSentEarly",
		},
		{
			Name: "withdrawn-still-sent", Breaks: []string{"O5"},
			Change:  "a page behind one that was taken back is sent all the same",
			File:    "outbox/internal/pglog/early.go",
			Old:     `	e.generation++`,
			New:     `	_ = e.generation`,
			Package: "outbox/internal/pglog", Test: "TestO2_WithdrawnPagesComeAgain",
		},
		{
			Name: "tail-joined-at-once", Breaks: []string{"O5"},
			Change:  "a tail is joined while a transaction is open that is older",
			File:    "outbox/pgoutbox/tail.go",
			Old:     `	if !may {`,
			New:     `	if false {`,
			Package: "outbox/pgoutbox", Test: "TestTail/not_joined_before_older_transactions_end", Needs: Postgres,
		},
		{
			Name: "read-is-settled", Breaks: []string{"O12"},
			Change:  "the position moves to what was read, acknowledged or not",
			File:    "outbox/internal/pglog/progress.go",
			Old:     `	return p.window.No, p.done, p.done != p.stored`,
			New:     `	return p.window.No, max(p.done, p.read), max(p.done, p.read) != p.stored`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O12_ReadIsNotSettled", Needs: Postgres,
		},
	}
}
