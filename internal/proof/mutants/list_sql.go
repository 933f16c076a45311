package mutants

const (
	sqlTests      = "internal/proof/sqltest/sqloutbox"
	sqlInboxTests = "internal/proof/sqltest/sqlinbox"
	onMariaDB     = "TestConformance_MariaDB/"
	inboxOnServer = "TestConformance_MariaDB/Inbox/"
)

// sqlWriteMutants break rules of producers of the outbox on database/sql.
func sqlWriteMutants() []Mutant {
	const folder = "outbox/sqloutbox"
	return []Mutant{
		{
			Name: "migrate-in-memory", Breaks: []string{"O2"},
			Change:  "a database of SQLite in memory is migrated",
			File:    "internal/sqlstore/migrate.go",
			Old:     `if s.Dialect.OneWriter {`,
			New:     `if s.Dialect.OneWriter && s.DB == nil {`,
			Package: sqlInboxTests, Test: "TestMigrate_RefusesWhatIsLost",
		},
		{
			Name: "sql-redriven-by-a-clock-ahead", Breaks: []string{"I4"},
			Change:  "what was redriven by a clock that was ahead runs when that time has come",
			File:    "inbox/sqlinbox/sql/redrive_hasten.sql",
			Old:     `state = 'redrive' AND next_at >`,
			New:     `state = 'parked' AND next_at >`,
			Package: sqlInboxTests, Test: "TestI4_ClockSetBack/SQLite",
		},
		{
			Name: "sql-inbox-forgets-by-any-clock", Breaks: []string{"I7"},
			Change:  "maintenance of an inbox on MySQL believes a clock that is a month ahead",
			File:    "inbox/sqlinbox/maintenance.go",
			Old:     `err = m.clock.Look(now)`,
			New:     `_ = m.clock.Look(now)`,
			Package: sqlInboxTests, Test: "TestI7_ClockThatJumps", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-inbox-audit-goes-by-any-clock", Breaks: []string{"I7"},
			Change:  "the audit of an inbox on MySQL goes by a clock that is a month ahead",
			File:    "inbox/sqlinbox/maintenance.go",
			Old:     `err = m.clock.Look(now)`,
			New:     `_, _ = m.pruneAudit(ctx, now.Add(-m.cfg.KeepAudit)); err = m.clock.Look(now)`,
			Package: sqlInboxTests, Test: "TestI7_ClockThatJumps", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-inbox-clock-without-an-alarm", Breaks: []string{"I7"},
			Change:  "the alarm of a clock that is not trusted does not end",
			File:    "internal/hooks/alarms.go",
			Old:     `if s.last == nil || complete {`,
			New:     `if s.last == nil || complete && len(raised) > 0 {`,
			Package: sqlInboxTests, Test: "TestI7_FloorAheadOfTheClock/SQLite",
		},
		{
			Name: "sql-clock-without-an-alarm", Breaks: []string{"O2"},
			Change:  "a clock that maintenance on MySQL does not trust raises no alarm",
			File:    "internal/hooks/alarms.go",
			Old:     `if doubt, ok := errors.AsType[clocks.DoubtError](err); ok {`,
			New:     `if doubt, ok := errors.AsType[clocks.DoubtError](err); ok && ctx == nil {`,
			Package: sqlTests, Test: "TestO2_ClockThatJumps", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-rows-go-below-a-floor-of-before", Breaks: []string{"I7"},
			Change:  "a round of maintenance on MySQL deletes ids below the floor that it has looked up before it was lowered",
			File:    "inbox/sqlinbox/forget.go",
			Old:     `return millis < floor.UnixMilli(), err`,
			New:     `return false, err`,
			Package: sqlInboxTests, Test: "TestI7_FloorIsLoweredUnderARound", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-other-ids-by-one-clock", Breaks: []string{"I1"},
			Change:  "an id that tells no time is remembered by MySQL's clock alone, which may be behind",
			File:    "inbox/sqlinbox/sql/claim.sql",
			Old:     `@{later}(@{now}, ?)`,
			New:     `@{now} + 0 * ?`,
			Package: sqlInboxTests, Test: "TestI7_OtherIDsUnderAClockThatIsBehind", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-other-ids-of-a-batch-by-one-clock", Breaks: []string{"I1"},
			Change:  "the ids of a batch that tell no time are remembered by MySQL's clock alone, which may be behind",
			File:    "inbox/sqlinbox/sql/batch_claim.sql",
			Old:     `@{later}(@{now}, ?)`,
			New:     `@{now} + 0 * ?`,
			Package: sqlInboxTests, Test: "TestI7_OtherIDsUnderAClockThatIsBehind", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-a-clock-that-was-behind-exempts", Breaks: []string{"O2"},
			Change:  "a group has fallen behind by messages that were enqueued a moment ago, by a clock that was behind",
			File:    "outbox/sqloutbox/retention.go",
			Old:     ` && seq <= m.clock.Younger(g.MaxLag)`,
			New:     ``,
			Package: sqlTests, Test: "TestO2_ClockThatWasBehind/lag/sqlite",
		},
		{
			Name: "sql-a-clock-that-was-behind-deletes", Breaks: []string{"O2"},
			Change:  "rows go that were written a moment ago, by a clock that was behind",
			File:    "outbox/sqloutbox/retention.go",
			Old:     `min(old, m.clock.Younger(m.cfg.Retention))`,
			New:     `min(old, math.MaxInt64)`,
			Package: sqlTests, Test: "TestO2_ClockThatWasBehind/retention/sqlite",
		},
		{
			Name: "sql-history-goes-by-any-clock", Breaks: []string{"O2"},
			Change:  "retention on MySQL believes a clock that is a month ahead",
			File:    "outbox/sqloutbox/retention.go",
			Old:     `return m.clock.Look(now)`,
			New:     `_ = m.clock.Look(now); return nil`,
			Package: sqlTests, Test: "TestO2_ClockThatJumps", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-dead-records-go-by-any-clock", Breaks: []string{"O2"},
			Change:  "dead records on MySQL go by a clock that is a month ahead",
			File:    "outbox/sqloutbox/retention.go",
			Old:     "	if err := m.trustClock(ctx); err != nil {\n		return report, err",
			New:     "	if err := m.trustClock(ctx); err != nil {\n		_ = m.prune(ctx, m.cfg.KeepDead, \"prune_dead\", \"dead_delete\")\n		return report, err",
			Package: sqlTests, Test: "TestO2_ClockThatJumps", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-keys-are-not-locked", Breaks: []string{"O5"},
			Change:  "Enqueue takes no lock of a key",
			File:    folder + "/enqueue.go",
			Old:     `return !o.cfg.UnorderedKeys && !o.log.Dialect.OneWriter`,
			New:     `return false`,
			Package: sqlTests, Test: onMariaDB + "O5_KeyIsHeldUntilTheEnd", Needs: MariaDB,
		},
		{
			Name: "sql-numbers-before-locks", Breaks: []string{"O5"},
			Change: "several messages draw their numbers before their keys are locked",
			File:   folder + "/enqueue.go",
			Old: `	if o.locksKeys() {
		if err := o.lockBuckets(ctx, tx, o.buckets(msgs)); err != nil {
			return err
		}
	}
	return o.log.InsertRows(ctx, tx, "enqueue", rows, func(int) []any { return nil })`,
			New: `	if err := o.log.InsertRows(ctx, tx, "enqueue", rows, func(int) []any { return nil }); err != nil {
		return err
	}
	if o.locksKeys() {
		return o.lockBuckets(ctx, tx, o.buckets(msgs))
	}
	return nil`,
			Package: sqlTests, Test: onMariaDB + "O5_NumberIsDrawnUnderTheLock", Needs: MariaDB,
		},
		{
			Name: "sql-delayed-waits-for-no-key", Breaks: []string{"O5"},
			Change:  "a delayed message is moved while a transaction has its key",
			File:    folder + "/delayed.go",
			Old:     `		if p.ordered(&due[i]) && p.busy[p.ob.bucket(due[i].key)] {`,
			New:     `		if p.ordered(&due[i]) && p.busy[-1] {`,
			Package: sqlTests, Test: onMariaDB + "O5_DelayedWaitsForItsKey", Needs: MariaDB,
		},
		{
			Name: "sql-failed-enqueue-can-be-committed", Breaks: []string{"O1"},
			Change:  "an Enqueue that has failed leaves its transaction open",
			File:    folder + "/enqueue.go",
			Old:     `		_ = tx.Rollback() // however`,
			New:     `		// however`,
			Package: sqlTests, Test: "TestO1_FailedEnqueueCannotBeCommitted", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-lost-commit-counts-as-refused", Breaks: []string{"O1"},
			Change:  "a COMMIT whose answer was lost is told like one that was refused",
			File:    folder + "/tx.go",
			Old:     `	return fmt.Errorf("%w: %w", outbox.ErrCommitUnknown, err)`,
			New:     `	return fmt.Errorf("%w: %w", outbox.ErrNotInTransaction, err)`,
			Package: sqlTests, Test: "TestO1_ProducerAtEveryPoint", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-increments-of-two", Breaks: []string{"O14"},
			Change:  "a server of a cluster, whose numbers are mostly missing, is taken",
			File:    "internal/sqlstore/check_server.go",
			Old:     `n.Numbers && v["auto_increment_increment"] != "1"`,
			New:     `n.Numbers && v["auto_increment_increment"] == "0"`,
			Package: sqlTests, Test: "TestCheckRefusesServersThatAreNotSetUp", Needs: MySQL | MariaDB,
		},
	}
}

// sqlReadMutants break rules of relays on database/sql.
func sqlReadMutants() []Mutant {
	const folder = "outbox/internal/sqllog"
	return []Mutant{
		{
			Name: "sql-gaps-are-forgotten", Breaks: []string{"O2"},
			Change:  "a number that is missing when a higher one is read is given up",
			File:    folder + "/position.go",
			Old:     `			p.Gaps = append(p.Gaps, Span{p.Last + 1, n - 1})`,
			New:     `			p.Gaps = p.Gaps[:len(p.Gaps):len(p.Gaps)]`,
			Package: sqlTests, Test: onMariaDB + "O2_LateCommitterBetweenPages", Needs: MariaDB,
		},
		{
			Name: "sql-gaps-are-read-first", Breaks: []string{"O5"},
			Change: "what was missing is read before what is new",
			File:   folder + "/read.go",
			Old: `	fresh, err := l.ReadRows(ctx, q, limit, l.SQL["page_new"], server, at.Last, limit)
	if err != nil || len(at.Gaps) == 0 {
		return fresh, err
	}
	late, err := l.readMissing(ctx, q, server, at.Gaps, limit)
	if err != nil {
		return RawPage{}, err
	}`,
			New: `	late, err := l.readMissing(ctx, q, server, at.Gaps, limit)
	if err != nil {
		return RawPage{}, err
	}
	fresh, err := l.ReadRows(ctx, q, limit, l.SQL["page_new"], server, at.Last, limit)
	if err != nil || len(at.Gaps) == 0 {
		return fresh, err
	}`,
			Package: sqlTests, Test: "TestO5_CommitBetweenTheTwoReads", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-a-replica-is-a-primary", Breaks: []string{"R14", "O2"},
			Change:  "a relay starts on a server that applies what another one has written",
			File:    "internal/sqlstore/primary.go",
			Old:     `		if c.applies() {`,
			New:     `		if c = nil; c.applies() {`,
			Package: sqlTests, Test: "TestO2_ReplicaIsRefused", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-gaps-are-closed-on-a-replica", Breaks: []string{"R14", "O2"},
			Change:  "a relay that runs closes numbers although a replication was started",
			File:    folder + "/gaps.go",
			Old:     `		if err != nil && !errors.Is(err, sqlstore.ErrReplicaUnknown) {`,
			New:     `		if err != nil && !errors.Is(err, sqlstore.ErrReplicaUnknown) && !errors.Is(err, sqlstore.ErrReplica) {`,
			Package: sqlTests, Test: "TestO2_ReplicaIsRefused", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-a-splitter-is-a-server", Breaks: []string{"R14"},
			Change:  "a relay starts although its connection reaches two servers",
			File:    "internal/sqlstore/primary.go",
			Old:     `	if len(servers) > 1 {`,
			New:     `	if len(servers) > 2 {`,
			Package: sqlTests, Test: "TestR14_SplitterIsRefused", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-any-server-answers-a-page", Breaks: []string{"R14", "O5"},
			Change:  "a statement of a page does not compare the server that answers it",
			File:    folder + "/session.go",
			Old:     `s.log.readPage(ctx, conn, s.server, at.Position, limit)`,
			New:     `s.log.readPage(ctx, conn, "", at.Position, limit)`,
			Package: sqlTests, Test: "TestR14_PageOfAnotherServer", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-looks-are-read-only", Breaks: []string{"R14"},
			Change:  "a look is a READ ONLY transaction, which splitters send to a replica",
			File:    "internal/sqlstore/store.go",
			Old:     `	opts.ReadOnly = s.Dialect.OneWriter`,
			New:     `	opts.ReadOnly = true`,
			Package: sqlInboxTests, Test: "TestR14_LooksOfAnInbox", Needs: MariaDB,
		},
		{
			Name: "sql-an-odd-shard-closes-a-gap", Breaks: []string{"O2"},
			Change:  "a row of others with a shard below zero is passed over",
			File:    folder + "/values.go",
			Old:     `n.Int64 < closedNumber`,
			New:     `n.Int64 < closedNumber-10`,
			Package: sqlTests, Test: "TestConformance_SQLite/O2_ForeignRowsAreRecords",
		},
		{
			Name: "sql-an-odd-time-stops-the-log", Breaks: []string{"O2"},
			Change: "a row of others whose time is not an integer cannot be read",
			File:   folder + "/values.go",
			Old: `	default:
		m.Odd = true
	}`,
			New: `	default:
		return sql.ErrNoRows
	}`,
			Package: sqlTests, Test: "TestConformance_SQLite/O2_ForeignRowsAreRecords",
		},
		{
			Name: "sql-a-copy-has-the-lease", Breaks: []string{"O2"},
			Change:  "a position is stored in the row of a copy that was put back",
			File:    folder + "/sql/advance.sql",
			Old:     `AND rev >= ?`,
			New:     `AND rev + 1000 >= ?`,
			Package: sqlTests, Test: "TestO2_CopyPutBackUnderARelay", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-a-number-is-of-another-message", Breaks: []string{"O2"},
			Change:  "a number that was read, and was given out again, is taken for read",
			File:    folder + "/life.go",
			Old:     `string(s.id) != at.id`,
			New:     `false`,
			Package: sqlTests, Test: "TestO2_CopyOfThisMomentPutBack", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-a-failed-read-has-read", Breaks: []string{"O2"},
			Change: "a Read that fails behind its statements has moved on",
			File:   folder + "/session.go",
			Old: `		if err := s.write(ctx, "touch"); err != nil {
`,
			New: `		if err := s.write(ctx, "touch"); err != nil {
			s.read = after
`,
			Package: sqlTests, Test: "TestO2_ReadThatFailsHasReadNothing", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-no-fence", Breaks: []string{"O3"},
			Change:  "records are handed out before they are durable",
			File:    folder + "/session.go",
			Old:     `	if s.fence {`,
			New:     `	if s.fence = false; s.fence {`,
			Package: sqlTests, Test: "TestO2_ReadThatFailsHasReadNothing", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-a-closed-number-is-a-message", Breaks: []string{"O3"},
			Change:  "a row that closes a gap is handed out",
			File:    folder + "/session.go",
			Old:     `if r.Shard >= 0 && topics`,
			New:     `if topics`,
			Package: sqlTests, Test: "TestO2_ClosedNumberIsNeverUsed", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-gaps-hold-up-the-lease", Breaks: []string{"O9"},
			Change:  "gaps are closed on the connection that renews the lease",
			File:    folder + "/gaps.go",
			Old:     `	err := s.reading.Use(ctx, func(conn *sql.Conn) error {`,
			New:     `	err := s.writing.Use(ctx, func(conn *sql.Conn) error {`,
			Package: sqlTests, Test: "TestO9_ClosingGapsKeepsNobodyWaiting", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-a-train-in-pieces", Breaks: []string{"N3"},
			Change:  "each Read asks for thousands of gaps, a hundred at a time",
			File:    folder + "/read.go",
			Old:     `	return n >= crowd && gaps`,
			New:     `	return n < 0 && gaps`,
			Package: sqlTests, Test: "TestN3_RollbackTrainsAreLookedThroughInOneGo", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-a-truncated-log-is-read", Breaks: []string{"O2"},
			Change:  "a relay that runs does not look whether the log is still the one of its position",
			File:    folder + "/life.go",
			Old:     `		err = now.check(s.life, at.Position)`,
			New:     `		_ = now`,
			Package: sqlTests, Test: "TestO2_TruncateUnderARelay", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-a-position-of-another-log", Breaks: []string{"O2"},
			Change:  "numbers of a log that began anew, and that have passed the position, are not looked into",
			File:    folder + "/life.go",
			Old:     `	if s.mark == "" {`,
			New:     `	if s.mark = s.life; s.mark == "" {`,
			Package: sqlTests, Test: "TestO2_TruncatedLogIsRefused", Needs: MySQL | MariaDB,
		},
		{
			Name: "promoter-deletes-what-it-has-not-read", Breaks: []string{"O2"},
			Change:  "of the delayed messages that are due some are deleted and not sent, if sessions have a sql_select_limit",
			File:    "outbox/sqloutbox/sql/delayed_take.sql",
			Old:     ` LIMIT 9223372036854775807`,
			New:     ``,
			Package: sqlTests, Test: "TestO2_SettingsOfTheServer/mariadb/select_limit/O2_DelayedSurvivesItsPromoter", Needs: MariaDB,
		},
		{
			Name: "part-of-a-key-is-all-of-it", Breaks: []string{"O6"},
			Change:  "who acts on keys that are set aside takes a part of the rows for all, if sessions have a sql_select_limit",
			File:    "outbox/internal/sqllog/held_read.go",
			Old:     `const allRows = " LIMIT 9223372036854775807"`,
			New:     `const allRows = ""`,
			Package: sqlTests, Test: "TestO2_SettingsOfTheServer/mariadb/select_limit/Admin_FailuresAreGrouped", Needs: MariaDB,
		},
		{
			Name: "relays-sessions-end-idle", Breaks: []string{"O9"},
			Change:  "a server that ends idle sessions ends those of a relay",
			File:    "internal/sqlstore/sql/set_session.sql",
			Old:     `, wait_timeout = 28800`,
			New:     ``,
			Package: sqlTests, Test: "TestO9_IdleSessionsAreKept/mariadb", Needs: MariaDB,
		},
		{
			Name: "sqlite-delays-texts-for-ever", Breaks: []string{"O2"},
			Change:  "a delayed message whose time is a text is never due",
			File:    "outbox/sqloutbox/delayed.go",
			Old:     `	err = o.evenTimes(ctx)`,
			New:     ``,
			Package: sqlTests, Test: "TestO2_DelayedByOthers",
		},
		{
			Name: "sql-retention-deletes-the-newest", Breaks: []string{"O2"},
			Change:  "with the newest row the counter can be set back, and numbers are given out again",
			File:    "outbox/sqloutbox/retention.go",
			Old:     `min(floor, last-1)`,
			New:     `min(floor, last)`,
			Package: sqlTests, Test: "TestO2_CounterIsNotSetBack", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-retention-passes-gaps", Breaks: []string{"O2"},
			Change:  "what may still be committed below the floor is deleted",
			File:    "outbox/sqloutbox/retention.go",
			Old:     `to = min(to, low)`,
			New:     `to = min(to, old)`,
			Package: sqlTests, Test: "TestO2_RetentionStopsAtWhatMayCommit", Needs: MySQL | MariaDB,
		},
		{
			Name: "sql-a-held-lease-is-taken", Breaks: []string{"O9"},
			Change:  "whoever asks gets the lease",
			File:    folder + "/sql/acquire.sql",
			Old:     `(lease_until <= @{now} OR lease_from`,
			New:     `(lease_until <= @{now} + 9000000000000 OR lease_from`,
			Package: sqlTests, Test: onMariaDB + "O9_OneHolder", Needs: MariaDB,
		},
		{
			Name: "sql-lease-of-a-clock-ahead", Breaks: []string{"O14"},
			Change:  "a lease that was given by a clock that was ahead counts until that time has come",
			File:    folder + "/sql/group.sql",
			Old:     `lease_from <= @{now} THEN`,
			New:     `lease_from <= lease_until THEN`,
			Package: sqlTests, Test: onMariaDB + "O14_ClockSetBack", Needs: MariaDB,
		},
		{
			Name: "sql-locks-of-a-member-are-believed", Breaks: []string{"O9"},
			Change:  "a relay on a member of a group replication says that others see its lock",
			File:    folder + "/sql/locks_are_shared.sql",
			Old:     `SELECT NOT EXISTS (`,
			New:     `SELECT TRUE OR NOT EXISTS (`,
			Package: sqlTests, Test: "TestO14_LocksOfAMemberAreNotBelieved", Needs: MySQL,
		},
		{
			Name: "sql-every-holder-is-dead", Breaks: []string{"O9"},
			Change:  "a lock that is held counts as free",
			File:    folder + "/sql/lock_is_free.sql",
			Old:     `SELECT IS_FREE_LOCK(?) = 1`,
			New:     `SELECT ? <> ''`,
			Package: sqlTests, Test: onMariaDB + "O9_OneHolder", Needs: MariaDB,
		},
		{
			Name: "sql-locks-without-a-mark", Breaks: []string{"O14"},
			Change:  "a lease does not say that its session holds a lock",
			File:    folder + "/lock.go",
			Old:     `	return marked, nil`,
			New:     `	return owner, nil`,
			Package: sqlTests, Test: onMariaDB + "O14_DeadHolderIsReplaced", Needs: MariaDB,
		},
		{
			Name: "sql-renews-without-its-connection", Breaks: []string{"O9"},
			Change:  "a session whose connection has ended does not know that its lease is lost",
			File:    folder + "/session.go",
			Old:     `err = errors.Join(err, s.Lost())`,
			New:     `err = errors.Join(err)`,
			Package: sqlTests, Test: onMariaDB + "O14_DeadHolderIsReplaced", Needs: MariaDB,
		},
		{
			Name: "sqlite-file-is-not-locked", Breaks: []string{"O9"},
			Change:  "the lock on the file excludes nobody",
			File:    "internal/sqlstore/filelock_flock.go",
			Old:     `syscall.LOCK_EX|syscall.LOCK_NB`,
			New:     `syscall.LOCK_SH|syscall.LOCK_NB`,
			Package: sqlTests, Test: "TestConformance_SQLite/O9_OneHolder",
		},
	}
}

// sqlDedupeMutants break rules of dedupe records on database/sql.
func sqlDedupeMutants() []Mutant {
	const (
		folder = "dedupe/sqldedupe"
		tests  = "internal/proof/sqltest/sqldedupe"
		suite  = "TestStore_Conformance/sqlite/"
	)
	return []Mutant{
		{
			Name: "sqldedupe-done-is-a-claim", Breaks: []string{"D3"},
			Change:  "a record that is done is stored as one that is claimed",
			File:    folder + "/step.go",
			Old:     `	case r.Done:`,
			New:     `	case r.Done && r.Released:`,
			Package: tests, Test: suite + "D3_DoneIsTerminal",
		},
		{
			Name: "sqldedupe-a-release-is-forgotten", Breaks: []string{"D6"},
			Change:  "a record that was released is loaded as one that is claimed",
			File:    folder + "/step.go",
			Old:     `true, state == stateDone, state == stateReleased`,
			New:     `true, state == stateDone, false`,
			Package: tests, Test: suite + "D6_ReleasedRunsAgain",
		},
		{
			Name: "sqldedupe-pruned-with-its-lease", Breaks: []string{"D3"},
			Change:  "what is done is removed as soon as its lease would have ended",
			File:    folder + "/sql/prune.sql",
			Old:     `WHERE expires_at <= ?`,
			New:     `WHERE lease_until <= ?`,
			Package: tests, Test: "TestD3_UntilTTL",
		},
	}
}
