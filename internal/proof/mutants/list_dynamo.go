package mutants

// dynamoOutboxMutants break rules of the outbox on DynamoDB.
func dynamoOutboxMutants() []Mutant {
	const folder = "outbox/dynamooutbox"
	return []Mutant{
		{
			Name: "dynamo-texts-are-empty-payloads", Breaks: []string{"O4"},
			Change: "a payload that others have written as a text is read as empty",
			File:   folder + "/keys.go",
			Old: `		return []byte(v.Value)
	case *types.AttributeValueMemberN:`,
			New: `		return nil
	case *types.AttributeValueMemberN:`,
			Package: folder, Test: "TestConformance/O2_ForeignRowsAreRecords", Needs: Dynamo,
		},
		{
			Name: "dynamo-retry-of-a-clock-ahead", Breaks: []string{"O14"},
			Change:  "what was set aside by a clock that was ahead is retried when that time has come",
			File:    folder + "/holder.go",
			Old:     `heldqueue.Hasten(ctx, tx, within, partSize)`,
			New:     `heldqueue.Hasten(ctx, tx, 1000*within, partSize)`,
			Package: folder, Test: "TestO14_RetryByAClockThatWasAhead", Needs: Dynamo,
		},
		{
			Name: "dynamo-polls-no-other-buckets", Breaks: []string{"O2"},
			Change:  "a relay looks only at the buckets that the table has",
			File:    folder + "/lap.go",
			Old:     `now.Sub(l.wide) >= l.s.ob.recount {`,
			New:     `now.Sub(l.wide) < 0 {`,
			Package: folder, Test: "TestO2_NumberOfBucketsIsReadAgain", Needs: Dynamo,
		},
		{
			Name: "dynamo-reads-the-buckets-once", Breaks: []string{"O2"},
			Change:  "a relay goes by the number of buckets of the table before",
			File:    folder + "/source.go",
			Old:     `	buckets, err := s.ob.readBuckets(ctx)`,
			New:     `	buckets, err := s.ob.buckets(ctx)`,
			Package: folder, Test: "TestO2_RelayReadsTheNumberOfBuckets", Needs: Dynamo,
		},
		{
			Name: "dynamo-passes-what-it-has-not-seen", Breaks: []string{"O5"},
			Change:  "a message is handed out although the one before it may be there, unseen",
			File:    folder + "/order.go",
			Old:     `	if previous != 0 && l.sent[key] != previous && !gone[previous] {`,
			New:     `	if previous != 0 && l.sent[key] == -previous && !gone[previous] {`,
			Package: folder, Test: "TestFaults_NothingTwiceAndInOrder", Needs: Dynamo,
		},
		{
			Name: "dynamo-no-fence", Breaks: []string{"O9"},
			Change:  "what a relay sets aside is written although another leads meanwhile",
			File:    folder + "/lease.go",
			Old:     `aws.String("ow = :owner AND ep = :epoch"),`,
			New:     `aws.String("ow = :owner OR ow <> :owner OR ep = :epoch"),`,
			Package: folder, Test: "TestO9_HoldThatArrivesAfterATakeover", Needs: Dynamo,
		},
		{
			Name: "dynamo-doubt-counts-as-gone", Breaks: []string{"O5"},
			Change:  "an earlier message that is there counts as gone",
			File:    folder + "/order.go",
			Old:     `			if len(r.Item) == 0 {`,
			New:     `			if len(r.Item) >= 0 {`,
			Package: folder, Test: "TestFaults_HiddenKeepsTheOrder", Needs: Dynamo,
		},
		{
			Name: "dynamo-counters-move-unseen", Breaks: []string{"O5"},
			Change:  "the counter of a key moves although another has moved it",
			File:    folder + "/counters.go",
			Old:     `		u.ConditionExpression = aws.String("n = :from")`,
			New:     `		u.ConditionExpression = aws.String("n = :from OR n <> :from")`,
			Package: folder, Test: "TestConformance/O5_KeyOrderIsCommitOrder", Needs: Dynamo,
		},
		{
			Name: "dynamo-asks-again-with-a-new-token", Breaks: []string{"O1"},
			Change: "a transaction whose answer was lost is sent again as a new one",
			File:   folder + "/transact.go",
			Old: `			unknown = err
`,
			New: `			unknown, r = err, nil
`,
			Package: folder, Test: "TestFaults_NothingTwiceAndInOrder", Needs: Dynamo,
		},
		{
			Name: "dynamo-held-leases-are-taken", Breaks: []string{"O9"},
			Change:  "a lease is taken from whoever has it",
			File:    folder + "/lease.go",
			Old:     `	return min(l.ttl-time.Since(s.since), l.ttl)`,
			New:     `	return min(0*(l.ttl-time.Since(s.since)), l.ttl)`,
			Package: folder, Test: "TestConformance/O9_RenewKeepsTheLease", Needs: Dynamo,
		},
	}
}

// dynamoDedupeMutants break rules of dedupe records in DynamoDB.
func dynamoDedupeMutants() []Mutant {
	const folder = "dedupe/dynamodedupe"
	return []Mutant{
		{
			Name: "dynamodedupe-times-are-exact", Breaks: []string{"D4"},
			Change:  "a time of whole seconds is taken for exact, and those of two servers for one clock's",
			File:    folder + "/clock.go",
			Old:     `const grain = 2 * time.Second`,
			New:     `const grain = 0 * time.Second`,
			Package: folder, Test: "TestD4_ClocksOfServers", Needs: Dynamo,
		},
		{
			Name: "dynamodedupe-own-writes-are-others", Breaks: []string{"D5"},
			Change:  "a write that fails on its own success counts as another one's",
			File:    folder + "/step.go",
			Old:     `	case revisionOf(failed.Item) == revision:`,
			New:     `	case revisionOf(failed.Item) == "":`,
			Package: folder, Test: "TestStore_LostAnswers/D5_AgreesWithTheModel", Needs: Dynamo,
		},
		{
			Name: "dynamodedupe-writes-over-others", Breaks: []string{"D1"},
			Change:  "a record is written whatever another has made of it",
			File:    folder + "/step.go",
			Old:     `aws.String("attribute_not_exists(pk)")`,
			New:     `aws.String("attribute_not_exists(pk) OR attribute_exists(pk)")`,
			Package: folder, Test: "TestStore_Conformance/D1_OneOfManyClaimersGetsIt", Needs: Dynamo,
		},
		{
			Name: "dynamodedupe-remembers-for-ever", Breaks: []string{"D3"},
			Change:  "what is forgotten and not deleted yet counts as there",
			File:    folder + "/item.go",
			Old:     `ForgetAt: time.UnixMicro(numberOf(i, attrForgetAt)),`,
			New:     `ForgetAt: time.UnixMicro(numberOf(i, attrForgetAt)).AddDate(100, 0, 0),`,
			Package: folder, Test: "TestD3_ForgottenBeforeItIsDeleted", Needs: Dynamo,
		},
	}
}

// dynamoInboxMutants break rules of the inbox on DynamoDB, where copies of a message conflict only when
// they commit.
func dynamoInboxMutants() []Mutant {
	const (
		folder = "inbox/dynamoinbox"
		loser  = "TestConformance/I5_LoserAtTheCommitIsADuplicate"
	)
	return []Mutant{
		{
			Name: "dynamo-mark-of-another-session", Breaks: []string{"I14"},
			Change:  "a session moves marks in DynamoDB that another has moved",
			File:    "inbox/dynamoinbox/marks.go",
			Old:     `+ ".t = :t" + n`,
			New:     `+ ".t = :t" + n + " OR attribute_exists(marks)"`,
			Package: "inbox/dynamoinbox", Test: "TestConformance/I14_OneSessionAtATimeMovesAMark", Needs: Dynamo,
		},
		{
			Name: "dynamoinbox-copies-both-commit", Breaks: []string{"I1", "I5"},
			Change:  "the record of an id is written whether it is there or not",
			File:    folder + "/store.go",
			Old:     `ConditionExpression: aws.String("attribute_not_exists(pk)"),`,
			New:     ``,
			Package: folder, Test: loser, Needs: Dynamo,
		},
		{
			Name: "dynamoinbox-outages-count", Breaks: []string{"I4"},
			Change:  "a DynamoDB without capacity is the message's failure",
			File:    folder + "/store.go",
			Old:     `return api.ErrorFault() == smithy.FaultServer`,
			New:     `return false`,
			Package: folder, Test: "TestI4_OutageOfTheServer", Needs: Dynamo,
		},
		{
			Name: "dynamoinbox-forgets-by-a-clock-behind", Breaks: []string{"I7"},
			Change:  "a process whose clock is behind has DynamoDB forget at once",
			File:    folder + "/store.go",
			Old:     `ok && theirs.After(now)`,
			New:     `ok && theirs.Before(now)`,
			Package: folder, Test: "TestI7_ClockThatIsBehind", Needs: Dynamo,
		},
		{
			Name: "dynamoinbox-any-refusal-is-a-duplicate", Breaks: []string{"I3"},
			Change:  "a message whose handler's own item is refused is acknowledged",
			File:    folder + "/store.go",
			Old:     `	case isRefused && aws.ToString(refused.Reasons[0].Code) == "ConditionalCheckFailed":`,
			New:     `	case isRefused && refused != nil:`,
			Package: folder, Test: "TestI3_RefusedItemIsAFailure", Needs: Dynamo,
		},
		{
			Name: "dynamoinbox-forgets-by-the-deadline", Breaks: []string{"I7"},
			Change:  "an id may be deleted as soon as it is there",
			File:    folder + "/store.go",
			Old:     `number(now.Add(s.cfg.Retention).Unix())`,
			New:     `number(now.Unix())`,
			Package: folder, Test: "TestI7_WhatIsThereWasProcessed", Needs: Dynamo,
		},
		{
			Name: "a-duplicate-at-the-commit-fails", Breaks: []string{"I5"},
			Change:  "a copy that comes later to the commit fails, and comes again",
			File:    "inbox/unit.go",
			Old:     `	case errors.Is(err, driver.ErrDuplicate):`,
			New:     `	case errors.Is(err, driver.ErrDuplicate) && unit == nil:`,
			Package: "inbox/meminbox", Test: "TestOptimistic/I5_LoserAtTheCommitIsADuplicate",
		},
	}
}
