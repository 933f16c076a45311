package mutants

// enqueueMutants break what happens in the producer's transaction.
func enqueueMutants() []Mutant {
	return []Mutant{
		{
			Name: "enqueue-in-an-ended-transaction", Breaks: []string{"O1"},
			Change:  "a transaction that has ended is taken for an open one",
			File:    "outbox/pgoutbox/enqueue.go",
			Old:     `if conn == nil || conn.PgConn().TxStatus() == 'I' {`,
			New:     `if conn == nil {`,
			Package: "outbox/pgoutbox", Test: "TestO1_TransactionEndedByAStatement", Needs: Postgres,
		},
		{
			Name: "enqueue-into-another-database", Breaks: []string{"O1"},
			Change:  "a transaction of another database is not recognised",
			File:    "outbox/pgoutbox/identity.go",
			Old:     `if seen != instance {`,
			New:     `if seen == "" && seen != instance {`,
			Package: "outbox/pgoutbox", Test: "TestO1_WrongDatabaseIsRefused", Needs: Postgres,
		},
		{
			Name: "rows-stored-are-not-counted", Breaks: []string{"O1"},
			Change:  "fewer rows than messages are no error",
			File:    "outbox/pgoutbox/enqueue.go",
			Old:     `if n != rows {`,
			New:     `if n > rows {`,
			Package: "outbox/pgoutbox", Test: "TestO1_WrongDatabaseIsRefused", Needs: Postgres,
		},
		{
			Name: "uncommitted-rows-are-read", Breaks: []string{"O3"},
			Change:  "the twin's window holds what is not committed yet",
			File:    "outbox/memoutbox/enqueue.go",
			Old:     `tx.rows = append(tx.rows, r)`,
			New:     `tx.ob.log = append(tx.ob.log, r)`,
			Package: "outbox/memoutbox", Test: "TestConformance/O3_NothingReadableBeforeCommit",
		},
		{
			Name: "ids-that-are-no-uuid-are-mapped", Breaks: []string{"O4"},
			Change:  "the mapped id is sent in place of the producer's own",
			File:    "outbox/pgoutbox/decode_binary.go",
			Old:     `r.ID = d.text(v[colIDText])`,
			New:     `r.ID = d.uuid(v[colID])`,
			Package: "outbox/pgoutbox", Test: "TestO4_EveryFieldSurvives", Needs: Postgres,
		},
		{
			Name: "key-is-not-locked", Breaks: []string{"O5"},
			Change:  "writers of one key do not take turns",
			File:    "outbox/pgoutbox/insert.go",
			Old:     `if o.cfg.UnorderedKeys {`,
			New:     `if !o.cfg.UnorderedKeys {`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O5_KeyIsHeldUntilTheEnd", Needs: Postgres,
		},
		{
			Name: "locks-are-not-sorted", Breaks: []string{"O5"},
			Change:  "the locks of the keys are taken in the order of the messages",
			File:    "outbox/pgoutbox/insert.go",
			Old:     `slices.Sort(keys)`,
			New:     `slices.Sort(keys[:0])`,
			Package: "outbox/pgoutbox", Test: "TestConformance/O5_KeysDoNotDeadlock", Needs: Postgres,
		},
		{
			Name: "many-keys-take-no-lock-on-the-whole", Breaks: []string{"O5"},
			Change:  "a call beyond MaxKeyLocks locks one key in place of the whole outbox",
			File:    "outbox/pgoutbox/insert.go",
			Old:     `return []int64{o.wholeBox}, 0`,
			New:     `return keys[:1], 0`,
			Package: "outbox/pgoutbox", Test: "TestO5_BeyondMaxKeyLocks", Needs: Postgres,
		},
		{
			Name: "key-locks-are-bounded-a-call", Breaks: []string{"O5"},
			Change:  "a transaction may lock any number of keys, if it does so in many calls",
			File:    "outbox/pgoutbox/key_locks.go",
			Old:     `		k.asked, all = kept, union(kept, keys)`,
			New:     `		k.asked, all = kept[:0], union(kept[:0], keys)`,
			Package: "outbox/pgoutbox", Test: "TestO5_KeysOfATransactionAreBounded", Needs: Postgres,
		},
		{
			Name: "transaction-of-another-key-is-dropped", Breaks: []string{"O1"},
			Change:  "the publisher finds the team's transaction and enqueues without it",
			File:    "outbox/wmoutbox/publisher.go",
			Old:     `		ctx = txctx.With(ctx, tx)`,
			New:     `		_, ctx = tx, txctx.With(ctx, nil)`,
			Package: "outbox/wmoutbox", Test: "TestA6_TransactionUnderAnotherKey",
		},
	}
}
