package mutants

// batchMutants break the batch inbox.
func batchMutants() []Mutant {
	return []Mutant{
		{
			Name: "copies-in-a-batch-run-twice", Breaks: []string{"I13", "I1"},
			Change:  "a message that a batch holds twice is claimed twice",
			File:    "inbox/batch_call.go",
			Old:     `if first, again := seen[stored]; again {`,
			New:     `if first, again := seen[stored]; again && first > place {`,
			Package: "inbox/meminbox", Test: "TestI13_Batch/I13_CopiesInABatchRunOnce",
		},
		{
			Name: "failure-does-not-hold-back-its-key", Breaks: []string{"I13"},
			Change:  "later messages of a key run although an earlier one is not done",
			File:    "inbox/batch_call.go",
			Old:     `return found && e.key.Name != "" && first < e.place`,
			New:     `return found && e.key.Name != "" && first > e.place`,
			Package: "inbox/meminbox", Test: "TestI13_Batch/I13_FailureHoldsBackItsKey",
		},
		{
			Name: "busy-in-a-batch-is-acked", Breaks: []string{"I13", "I3"},
			Change:  "a message of a batch that is being processed elsewhere counts as a duplicate",
			File:    "inbox/batch_claim.go",
			Old:     `c.settleAll(ctx, entries[i:i+1], OutcomeBusy, "claim", ErrBusy)`,
			New:     `c.settle(ctx, e, OutcomeDuplicate, nil)`,
			Package: "inbox/meminbox", Test: "TestI13_Batch/I13_BusyHoldsBackItsKey",
		},
		{
			Name: "unknown-batch-commit-is-acked", Breaks: []string{"I13", "I1"},
			Change:  "the commit of a batch without an answer is taken for one that took effect",
			File:    "inbox/batch_run.go",
			Old:     `return OutcomeUnknown, fmt.Errorf("%w: %w", ErrCommitUnknown, err)`,
			New:     `return OutcomeCommitted, fmt.Errorf("%w: %w", ErrCommitUnknown, err)`,
			Package: "inbox/meminbox", Test: "TestI13_Batch/I13_AmbiguousCommitThatDidNot",
		},
		{
			Name: "early-ack-in-a-batch-commits", Breaks: []string{"I13"},
			Change:  "a batch commits of which a message was acknowledged before",
			File:    "inbox/batch_run.go",
			Old:     `errors.Join(unacked(e.msg), own[i].Nacked(), over(e.msg.Context()))`,
			New:     `errors.Join(own[i].Nacked(), over(e.msg.Context()))`,
			Package: "inbox/meminbox", Test: "TestI13_Batch/I13_EarlyAckIsUndoneAlone",
		},
		{
			Name: "handlers-ack-in-a-batch-is-the-routers", Breaks: []string{"I13"},
			Change:  "the handler of a batch gets the messages that their subscriber settles",
			File:    "inbox/batch_run.go",
			Old:     `		defer own[i].Return()`,
			New:     `		msgs[i] = e.msg`,
			Package: "inbox/meminbox", Test: "TestI13_Batch/I13_HandlersAckReachesNobody",
		},
		{
			Name: "duplicates-in-a-batch-run", Breaks: []string{"I13", "I1"},
			Change:  "messages of a batch that were processed before count as new",
			File:    "inbox/pginbox/sql/claim_batch.sql",
			Old:     `WHERE ok AND id NOT IN (SELECT id FROM i)`,
			New:     `WHERE ok AND id IS NULL`,
			Package: "inbox/pginbox", Test: "TestHandleBatch", Needs: Postgres,
		},
		{
			Name: "fresh-batch-runs-what-is-busy", Breaks: []string{"I13", "I1"},
			Change:  "a batch that is claimed as new is run although another delivery is at messages of it",
			File:    "inbox/internal/pgclaim/pool.go",
			Old:     `tag.RowsAffected() != want`,
			New:     `tag.RowsAffected() > want`,
			Package: "inbox/pginbox", Test: "TestI13_OurClaimsRefuseEachOther", Needs: Postgres,
		},
		{
			Name: "each-failure-commits", Breaks: []string{"I13", "I4"},
			Change: "a message whose handler failed in a shared transaction commits with its neighbours",
			File:   "inbox/batch_each.go",
			Old: `handle); err != nil { //nolint:contextcheck // the message has one of its own
				return`,
			New: `handle); err != nil && i < 0 {
				return`,
			Package: "inbox/meminbox", Test: "TestI13_Batch/I13_EachRunsTwiceAtMost",
		},
	}
}
