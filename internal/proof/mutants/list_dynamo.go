package mutants

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

// dynamoInboxMutants break rules of the inbox on DynamoDB, whose copies meet as they commit.
func dynamoInboxMutants() []Mutant {
	const (
		folder = "inbox/dynamoinbox"
		loser  = "TestConformance/I5_LoserAtTheCommitIsADuplicate"
	)
	return []Mutant{
		{
			Name: "dynamoinbox-copies-both-commit", Breaks: []string{"I1", "I5"},
			Change:  "the record of an id is written whether it is there or not",
			File:    folder + "/store.go",
			Old:     `ConditionExpression: aws.String("attribute_not_exists(pk)"),`,
			New:     ``,
			Package: folder, Test: loser, Needs: Dynamo,
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
