package mutants

// deliveryMutants break when a delivery is committed and acknowledged, in the engine
// that all stores share.
func deliveryMutants() []Mutant {
	return []Mutant{
		{
			Name: "ack-before-commit", Breaks: []string{"I3"},
			Change:  "a message is acknowledged before its transaction commits",
			File:    "inbox/unit.go",
			Old:     `	committing = true // which ends`,
			New:     `	committing = d.msg.Ack() // which ends`,
			Package: "inbox/meminbox", Test: "TestInbox/I3_NoAckWithoutCommit",
		},
		{
			Name: "unknown-commit-is-acked", Breaks: []string{"I1", "I3"},
			Change:  "a commit without an answer is taken for one that took effect",
			File:    "inbox/unit.go",
			Old:     `return OutcomeUnknown, p.wrap("commit", id, fmt.Errorf("%w: %w", ErrCommitUnknown, err))`,
			New:     `return OutcomeCommitted, nil`,
			Package: "inbox/meminbox", Test: "TestInbox/I1_AmbiguousCommitThatDidNot",
		},
		{
			Name: "busy-is-acked", Breaks: []string{"I3"},
			Change:  "a message that is being processed elsewhere is acknowledged",
			File:    "inbox/unit.go",
			Old:     `return OutcomeBusy, p.wrap("claim", d.id, ErrBusy)`,
			New:     `return OutcomeDuplicate, nil`,
			Package: "inbox/meminbox", Test: "TestInbox/I3_BusyIsNotAcked",
		},
		{
			Name: "early-ack-commits", Breaks: []string{"I3"},
			Change:  "a message that its handler has acknowledged or refused is committed",
			File:    "inbox/unit.go",
			Old:     `m.err(), unacked(d.msg), over(ctx))`,
			New:     `m.err(), over(ctx))`,
			Package: "inbox/meminbox", Test: "TestInbox/I3_EarlyNackIsRefused",
		},
		{
			Name: "failure-is-not-rolled-back", Breaks: []string{"I4"},
			Change:  "a handler that fails leaves its transaction open",
			File:    "inbox/unit.go",
			Old:     `		if !committing {`,
			New:     `		if committing {`,
			Package: "inbox", Test: "TestOutcomes",
		},
		{
			Name: "swallowed-errors-commit", Breaks: []string{"I4"},
			Change:  "a delivery that was marked for rollback commits",
			File:    "inbox/unit.go",
			Old:     `m.err(), unacked(d.msg), over(ctx))`,
			New:     `unacked(d.msg), over(ctx))`,
			Package: "inbox/meminbox", Test: "TestInbox/I4_RollbackOnlyLeavesNoRecord",
		},
		{
			Name: "cancelled-delivery-commits", Breaks: []string{"I4"},
			Change:  "a delivery whose context has ended commits",
			File:    "inbox/unit.go",
			Old:     `m.err(), unacked(d.msg), over(ctx))`,
			New:     `m.err(), unacked(d.msg))`,
			Package: "inbox/meminbox", Test: "TestInbox/I4_CancelledContextLeavesNoRecord",
		},
		{
			Name: "context-is-not-restored", Breaks: []string{"I2"},
			Change:  "the message keeps the context of a transaction that has ended",
			File:    "inbox/unit.go",
			Old:     `	defer msg.SetContext(orig) //`,
			New:     `	defer orig.Err() //`,
			Package: "inbox", Test: "TestContextCarriesTheTransactionUntilTheEnd",
		},
	}
}

// messageMutants break the ids of messages, and what handlers return.
func messageMutants() []Mutant {
	return []Mutant{
		{
			Name: "commit-is-cut-off", Breaks: []string{"I3"},
			Change:  "a commit ends with the context of its delivery",
			File:    "inbox/unit.go",
			Old:     `return context.WithTimeout(context.WithoutCancel(ctx), p.cfg.FinishTimeout)`,
			New:     `return context.WithTimeout(ctx, p.cfg.FinishTimeout)`,
			Package: "inbox", Test: "TestI3_CommitIsNotInterrupted",
		},
		{
			Name: "empty-id-is-an-id", Breaks: []string{"I11"},
			Change:  "a message without an id is processed as \"\"",
			File:    "inbox/delivery.go",
			Old:     `	if d.id == "" {`,
			New:     `	if d.id == "" && d.msg == nil {`,
			Package: "inbox/meminbox", Test: "TestInbox/I11_EmptyIDIsAnError",
		},
		{
			Name: "child-ids-without-consumer", Breaks: []string{"I12"},
			Change:  "two consumers make the same id out of one message",
			File:    "internal/ids/ids.go",
			Old:     `strconv.QuoteToASCII(consumer)`,
			New:     `strconv.Quote(consumer[:0])`,
			Package: "inbox", Test: "TestI12_ChildIDIsAFunctionOfItsArguments",
		},
		{
			Name: "child-ids-without-quotes", Breaks: []string{"I12"},
			Change:  "parts of a child's id run into each other",
			File:    "internal/ids/ids.go",
			Old:     `"child " + strconv.QuoteToASCII(parent)`,
			New:     `"child " + parent`,
			Package: "inbox", Test: "TestI12_ChildIDIsAFunctionOfItsArguments",
		},
		{
			Name: "namespaces-run-into-ids", Breaks: []string{"I10"},
			Change:  "the namespace of an id is put before it as it is",
			File:    "inbox/idsource_namespace.go",
			Old:     `strconv.QuoteToASCII(name)`,
			New:     `strconv.QuoteToASCII("") + name`,
			Package: "inbox", Test: "TestIDWithin",
		},
		{
			Name: "two-handlers-share-an-inbox", Breaks: []string{"N1", "I1"},
			Change:  "a second handler behind an inbox finds its messages done by the first",
			File:    "internal/onehandler/guard.go",
			Old:     `		case seen.first == handler:`,
			New:     `		case seen.second == "":`,
			Package: "middleware", Test: "TestN1_TwoHandlersBehindOneInbox",
		},
		{
			Name: "the-first-handler-goes-on", Breaks: []string{"N1", "I1"},
			Change:  "of two handlers behind an inbox, the one that came first is served",
			File:    "internal/onehandler/guard.go",
			Old:     `		case seen.second != "":`,
			New:     `		case seen.second != "" && seen.first != handler:`,
			Package: "middleware", Test: "TestN1_TwoHandlersBehindOneInbox",
		},
		{
			Name: "a-cache-answers-two-handlers", Breaks: []string{"N1", "I9"},
			Change:  "a cache acknowledges for one handler what another one has processed",
			File:    "inbox/twotier/processor.go",
			Old:     `return inbox.OutcomeFailed, err`,
			New:     `ctx = context.WithoutCancel(ctx)`,
			Package: "inbox/twotier", Test: "TestN1_TwoHandlersBehindACache",
		},
		{
			Name: "passed-on-under-the-same-id", Breaks: []string{"I12"},
			Change:  "a message that a handler passes on keeps the id it came with",
			File:    "middleware/passed_on.go",
			Old:     `child.UUID = PassedOnID(p.id, p.consumer, n)`,
			New:     `child.UUID = p.id`,
			Package: "middleware", Test: "TestI12_PassedOn",
		},
		{
			Name: "conflicts-are-not-retried", Breaks: []string{"I6"},
			Change:  "a serialization failure is a failure of the handler",
			File:    "inbox/conflict.go",
			Old:     `if try >= p.cfg.ConflictRetries {`,
			New:     `if try >= 0 {`,
			Package: "inbox", Test: "TestI6_ConflictsAreRetriedAsAWhole",
		},
		{
			Name: "returned-messages-are-dropped", Breaks: []string{"I2"},
			Change:  "what the handler returns does not go into the outbox",
			File:    "middleware/inbox.go",
			Old:     `parent.passOn(produced))`,
			New:     `parent.passOn(produced)[:0])`,
			Package: "middleware", Test: "TestI2_ReturnedMessagesGoToTheOutbox",
		},
		{
			Name: "returned-messages-outside-the-transaction", Breaks: []string{"I2"},
			Change:  "what the handler returns is enqueued under another context than the transaction's",
			File:    "middleware/inbox.go",
			Old:     `i.cfg.Outbox.EnqueueContext(ctx, msgs...)`,
			New:     `i.cfg.Outbox.EnqueueContext(context.Background(), msgs...)`,
			Package: "middleware", Test: "TestI2_ReturnedMessagesGoToTheOutbox",
		},
		{
			Name: "rollback-on-error-lets-errors-pass", Breaks: []string{"I4"},
			Change:  "an error that another middleware swallows is committed",
			File:    "middleware/rollback_on_error.go",
			Old:     `		cause = err`,
			New:     `		cause = nil`,
			Package: "middleware", Test: "TestI4_SwallowedErrors",
		},
	}
}

// attemptMutants break what becomes of messages that fail.
func attemptMutants() []Mutant {
	return []Mutant{
		{
			Name: "attempts-count-after-the-handler", Breaks: []string{"I4"},
			Change:  "a message whose attempts ended with their processes is tried for ever",
			File:    "inbox/attempts.go",
			Old:     `case a.Number > p.cfg.OnFailure.Attempts:`,
			New:     `case a.Number < 0:`,
			Package: "inbox/meminbox", Test: "TestFailures/I4_PanicsAreAttempts",
		},
		{
			Name: "cancelled-deliveries-count", Breaks: []string{"I4"},
			Change:  "a delivery that was cancelled is an attempt",
			File:    "inbox/attempts.go",
			Old:     `case outcome == OutcomeBusy, outcome == OutcomeFailed && !ShouldPoison(err):`,
			New:     `case outcome == OutcomeBusy:`,
			Package: "inbox/meminbox", Test: "TestFailures/I4_CancelledDeliveriesAreNoAttempts",
		},
		{
			Name: "parked-key-is-not-asked-for", Breaks: []string{"I1"},
			Change:  "later messages of a parked key run",
			File:    "inbox/attempts.go",
			Old:     `case a.KeyParked && p.cfg.OnFailure.Action == Park:`,
			New:     `case a.KeyParked && p.cfg.OnFailure.Action == Block:`,
			Package: "inbox/meminbox", Test: "TestFailures/I1_FollowersAreStoredBehindAParkedMessage",
		},
		{
			Name: "given-up-although-that-failed", Breaks: []string{"I3"},
			Change:  "a message is acknowledged although it could not be given up",
			File:    "inbox/give_up.go",
			Old:     `return got, p.notGivenUp(d, cause, err)`,
			New:     `return outcome, nil`,
			Package: "inbox/meminbox", Test: "TestFailures/I3_CustomThatFailsIsNotAcked",
		},
		{
			Name: "mismatch-is-a-duplicate", Breaks: []string{"I10"},
			Change:  "the same id with another payload is acknowledged as a duplicate",
			File:    "inbox/processor.go",
			Old:     `note.Fingerprint != nil && !bytes.Equal(d.fingerprint, note.Fingerprint)`,
			New:     `note.Fingerprint != nil && !bytes.Equal(d.fingerprint, d.fingerprint)`,
			Package: "inbox/meminbox", Test: "TestFailures/I10_MismatchIsNotAcked",
		},
		{
			Name: "refused-dead-letter-comes-again", Breaks: []string{"I3"},
			Change:  "a message that no outbox takes as a dead letter is never given up",
			File:    "inbox/dead_letter.go",
			Old:     `if err == nil || refused == nil || p.parker == nil {`,
			New:     `if err == nil || refused != nil || p.parker == nil {`,
			Package: "inbox/meminbox", Test: "TestFailures/I3_DeadLetterThatNoOutboxTakesIsParked",
		},
	}
}
