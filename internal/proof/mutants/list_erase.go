package mutants

// stopMutants break the stop of a redrive.
func stopMutants() []Mutant {
	return []Mutant{
		{
			Name: "stop-redrives", Breaks: []string{"O6"},
			Change:  "a redrive is not stopped but asked for again",
			File:    "outbox/internal/pgheld/change.go",
			Old:     `	if req.Stop {`,
			New:     `	if req.Stop && ctx == nil {`,
			Package: "outbox/pgoutbox", Test: "TestConformance/Admin_RedriveIsStopped", Needs: Postgres,
		},
		{
			Name: "stop-redrives-in-go", Breaks: []string{"O6"},
			Change:  "the same of the queue in Go",
			File:    "outbox/internal/heldqueue/change.go",
			Old:     `	if req.Stop {`,
			New:     `	if req.Stop && ctx == nil {`,
			Package: "outbox/memoutbox", Test: "TestConformance/Admin_RedriveIsStopped",
		},
		{
			Name: "stopped-is-sent-by-a-late-answer", Breaks: []string{"O6"},
			Change:  "an answer about a record that was stopped meanwhile takes it out of what is parked",
			File:    "outbox/internal/heldqueue/resolve.go",
			Old:     `bySeq(ctx, tx, []State{Retry, Wait}, verdicts,`,
			New:     `bySeq(ctx, tx, []State{Retry, Wait, Parked}, verdicts,`,
			Package: "outbox/memoutbox", Test: "TestConformance/Admin_RedriveIsStopped",
		},
	}
}

// eraseMutants leave data of the person to erase, or delete data of another person.
func eraseMutants() []Mutant {
	return []Mutant{
		{
			Name: "erase-takes-other-keys", Breaks: []string{"S19"},
			Change:  "a key selects the messages of all keys",
			File:    "internal/erase/erase.go",
			Old:     `	case r.Key != "" && r.Key == key &&`,
			New:     `	case r.Key != "" && key != "" &&`,
			Package: "internal/erase", Test: "TestRequest_Matches",
		},
		{
			Name: "erase-keeps-the-name-as-its-reason", Breaks: []string{"S19"},
			Change:  "the reason of an erasure may name the person, and stays in the audit",
			File:    "internal/erase/erase.go",
			Old:     `if text != "" && strings.Contains(strings.ToLower(r.Reason), strings.ToLower(text)) {`,
			New:     `if text != "" && strings.Contains(r.Reason, "\x00") {`,
			Package: "internal/erase", Test: "TestCheck",
		},
		{
			Name: "erase-leaves-the-dead", Breaks: []string{"S19"},
			Change:  "dead records of the person stay",
			File:    "outbox/internal/pgheld/erase.go",
			Old:     `[]string{s.eraseHeld, s.eraseDead}`,
			New:     `[]string{s.eraseHeld}`,
			Package: "cmd/leat", Test: "TestErase", Needs: Postgres,
		},
		{
			Name: "erase-leaves-errors-in-the-audit", Breaks: []string{"S19"},
			Change:  "the audit keeps what a record of the person has failed of",
			File:    "outbox/internal/pgheld/sql/erase_audit.sql",
			Old:     `SET key = NULL, details = NULL, reason = 'erased'`,
			New:     `SET key = NULL, reason = 'erased'`,
			Package: "cmd/leat", Test: "TestErase", Needs: Postgres,
		},
		{
			Name: "erase-leaves-what-is-delayed", Breaks: []string{"S19"},
			Change:  "a delayed message of the person stays, and is sent",
			File:    "outbox/pgoutbox/sql/erase_delayed.sql",
			Old:     `    WHERE key = $1::text AND ($2::text IS NULL OR topic LIKE $2) OR`,
			New:     `    WHERE false AND key = $1::text AND ($2::text IS NULL OR topic LIKE $2) AND`,
			Package: "cmd/leat", Test: "TestErase", Needs: Postgres,
		},
		{
			Name: "erase-in-a-dry-run", Breaks: []string{"S19"},
			Change:  "a dry run erases",
			File:    "outbox/pgoutbox/erase.go",
			Old:     `	if err != nil || r.DryRun {`,
			New:     `	if err != nil {`,
			Package: "cmd/leat", Test: "TestErase", Needs: Postgres,
		},
		{
			Name: "erase-forgets-that-it-was-processed", Breaks: []string{"I1", "S19"},
			Change:  "with a parked message its id goes, so that it runs when it comes again",
			File:    "inbox/internal/pgpark/sql/erase_parked.sql",
			Old:     "WITH d AS (",
			New:     "WITH x AS (DELETE FROM @{} WHERE id IN (SELECT uuid FROM @{_parked} WHERE no = $1::bigint)), d AS (",
			Package: "cmd/leat", Test: "TestErase", Needs: Postgres,
		},
		{
			Name: "erase-leaves-forwarded-rows", Breaks: []string{"S19"},
			Change:  "rows of the forwarder's table stay",
			File:    "outbox/wmforward/erase.go",
			Old:     `	for from := 0; from < len(rows.ids); from += eraseChunk {`,
			New:     `	for from := 0; from < 0; from += eraseChunk {`,
			Package: "outbox/wmforward", Test: "TestErase", Needs: Postgres,
		},
		{
			Name: "erase-leaves-counters", Breaks: []string{"S19"},
			Change:  "on DynamoDB the key stays in the name of its counter",
			File:    "outbox/dynamooutbox/erase.go",
			Old:     `	for _, i := range counters {`,
			New:     `	for _, i := range counters[:0] {`,
			Package: "outbox/dynamooutbox", Test: "TestErase", Needs: Dynamo,
		},
		{
			Name: "erase-takes-a-counter-in-use", Breaks: []string{"O5"},
			Change:  "on DynamoDB a counter goes although it has moved",
			File:    "outbox/dynamooutbox/erase.go",
			Old:     `aws.String("n = :n"), ExpressionAttributeValues: item{":n": number(last)},`,
			New:     `aws.String("n = :n OR n <> :n"), ExpressionAttributeValues: item{":n": number(last)},`,
			Package: "outbox/dynamooutbox", Test: "TestErase_KeepsACounterInUse", Needs: Dynamo,
		},
	}
}
