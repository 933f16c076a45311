package mutants

// dedupeMutants break the engine for effects outside SQL.
func dedupeMutants() []Mutant {
	return []Mutant{
		{
			Name: "hidden-records-are-looked-for-again", Breaks: []string{"D6"},
			Change:  "a record that row level security hides counts as one that was given up",
			File:    "dedupe/pgdedupe/store.go",
			Old:     `if err == nil && partly {`,
			New:     `if err == nil && partly && ctx.Err() != nil {`,
			Package: "dedupe/pgdedupe", Test: "TestD6_RowLevelSecurityIsRefused", Needs: Postgres, Hangs: true,
		},
		{
			Name: "fenced-run-is-acked", Breaks: []string{"D6"},
			Change:  "a run that was taken over is acknowledged",
			File:    "dedupe/processor.go",
			Old:     `	case c == Fenced:`,
			New:     `	case c == Fenced && finish == nil:`,
			Package: "dedupe", Test: "TestD6_FencedIsNotAcked",
		},
		{
			Name: "fail-open-by-default", Breaks: []string{"D6"},
			Change:  "a store that is away lets handlers run unasked",
			File:    "dedupe/processor.go",
			Old:     `if !p.cfg.FailOpen || ctx.Err() != nil {`,
			New:     `if ctx.Err() != nil {`,
			Package: "dedupe", Test: "TestD6_LostAnswers",
		},
		{
			Name: "failed-run-completes", Breaks: []string{"D6"},
			Change:  "a handler that failed is recorded as done",
			File:    "dedupe/processor.go",
			Old:     "		p.release(ctx, d.Key, token)\n		return nil, err",
			New:     "		return nil, errors.Join(err, p.complete(ctx, d, token, nil))",
			Package: "dedupe", Test: "TestD6_FailureRunsAgain",
		},
		{
			Name: "context-outlives-the-lease", Breaks: []string{"D7"},
			Change:  "the handler's context ends after the lease",
			File:    "dedupe/run.go",
			Old:     `deadline.Add(-p.cfg.Margin)); {`,
			New:     `deadline.Add(p.cfg.Lease)); {`,
			Package: "dedupe", Test: "TestD7_CancelledBeforeTakeover", Hangs: true,
		},
		{
			Name: "lease-is-not-extended", Breaks: []string{"D7"},
			Change:  "the lease of a run is extended once it has ended",
			File:    "dedupe/run.go",
			Old:     `p.cfg.Lease*2/3, 0)`,
			New:     `p.cfg.Lease/100*99, 0) + 2*p.cfg.Lease`,
			Package: "dedupe", Test: "TestD7_HeartbeatKeepsTheLease",
		},
		{
			Name: "cancelled-run-is-not-completed", Breaks: []string{"D6"},
			Change:  "an effect that is there is not recorded since the delivery was cancelled",
			File:    "dedupe/processor.go",
			Old:     "	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.FinishTimeout)\n	defer cancel()\n	c, err",
			New:     "	finish, cancel := context.WithTimeout(ctx, p.cfg.FinishTimeout)\n	defer cancel()\n	c, err",
			Package: "dedupe", Test: "TestDo_CompletesAfterCancel",
		},
		{
			Name: "step-of-each-attempt", Breaks: []string{"D6"},
			Change:  "a step is another one in each attempt of its message",
			File:    "dedupe/step.go",
			Old:     `id := stepPrefix + call.IdempotencyKey`,
			New:     `id := stepPrefix + call.IdempotencyKey + fmt.Sprint(call.Fence)`,
			Package: "dedupe", Test: "TestD6_StepRunsOnceWhateverItsMessageDoes",
		},
		{
			Name: "mounts-share-fingerprints", Breaks: []string{"D6"},
			Change:  "requests to two mounts behind http.StripPrefix look alike",
			File:    "dedupe/httpdedupe/call.go",
			Old:     `		return r.RequestURI`,
			New:     `		return r.URL.RequestURI()`,
			Package: "dedupe/httpdedupe", Test: "TestD6_MountsAndHostsAreInTheFingerprint",
		},
		{
			Name: "eviction-is-not-asked-for", Breaks: []string{"D8"},
			Change:  "a Redis that evicts keys is taken unless the program asks",
			File:    "dedupe/redisdedupe/check.go",
			Old:     `	if s.checked.Load() {`,
			New:     `	if !s.checked.Load() {`,
			Package: "dedupe/redisdedupe", Test: "TestD8_EvictionIsRefusedUnasked", Needs: Redis,
		},
		{
			Name: "receipts-can-be-forged", Breaks: []string{"D6"},
			Change:  "a message that is called like a step's record has that record",
			File:    "dedupe/namespace.go",
			Old:     `		return messagePrefix + id`,
			New:     `		return id`,
			Package: "dedupe", Test: "TestD6_ForgedReceipt",
		},
		{
			Name: "ids-of-any-length-go-to-the-store", Breaks: []string{"N4"},
			Change:  "an id that is longer than a store need take is its record's",
			File:    "dedupe/namespace.go",
			Old:     `	case len(id) > MaxIDBytes, !utf8.ValidString(id), `,
			New:     `	case !utf8.ValidString(id), `,
			Package: "dedupe", Test: "TestN4_AnyIDIsRemembered",
		},
		{
			Name: "handlers-messages-are-dropped", Breaks: []string{"D6"},
			Change:  "a handler counts as done although its messages were not published",
			File:    "middleware/dedupe.go",
			Old:     `d.cfg.Publisher.Publish(topic, parent.passOn(produced)...)`,
			New:     `d.cfg.Publisher.Publish(topic, parent.passOn(nil)...)`,
			Package: "middleware", Test: "TestD6_PublishedBeforeDone",
		},
		{
			Name: "response-before-its-record", Breaks: []string{"D6"},
			Change:  "a response is sent before it is recorded",
			File:    "dedupe/httpdedupe/middleware.go",
			Old:     `	if !rec.written() && ctx.Err() != nil {`,
			New:     `	if rec.deliver(); !rec.written() && ctx.Err() != nil {`,
			Package: "dedupe/httpdedupe", Test: "TestD6_RecordedBeforeTheResponse",
		},
	}
}

// tokenMutants break who may do what with a message in Redis.
func tokenMutants() []Mutant {
	return []Mutant{
		{
			Name: "redis-two-tokens", Breaks: []string{"D1"},
			Change:  "a claim takes what another one holds",
			File:    "dedupe/redisdedupe/lua/claim.lua",
			Old:     `elseif left > 0 then`,
			New:     `elseif left > lease then`,
			Package: "dedupe/redisdedupe", Test: "TestStore_ConformanceInProcess/D1_OneOfManyClaimersGetsIt",
		},
		{
			Name: "redis-release-without-token", Breaks: []string{"D2"},
			Change:  "anybody releases a message",
			File:    "dedupe/redisdedupe/lua/release.lua",
			Old:     `if string.sub(value, 1, #ARGV[1] + 3) ~= 'P ' .. ARGV[1] .. ' ' then`,
			New:     `if string.sub(value, 1, 2) ~= 'P ' then`,
			Package: "dedupe/redisdedupe", Test: "TestStore_ConformanceInProcess/D2_OnlyTheHolder",
		},
		{
			Name: "redis-extend-without-token", Breaks: []string{"D2"},
			Change:  "anybody extends a lease",
			File:    "dedupe/redisdedupe/lua/extend.lua",
			Old:     `if state ~= 'P' or token ~= ARGV[1] then`,
			New:     `if state ~= 'P' then`,
			Package: "dedupe/redisdedupe", Test: "TestStore_ConformanceInProcess/D2_OnlyTheHolder",
		},
		{
			Name: "redis-complete-without-token", Breaks: []string{"D2", "D6"},
			Change:  "who was taken over completes what its successor holds",
			File:    "dedupe/redisdedupe/lua/complete.lua",
			Old:     "  elseif state == 'P' then\n    return 2\n",
			New:     "\n",
			Package: "dedupe/redisdedupe", Test: "TestStore_ConformanceInProcess/D2_OnlyTheHolder",
		},
		{
			Name: "valkey-completes-without-comparing", Breaks: []string{"D2"},
			Change:  "whoever claimed once completes, whatever the record is by now",
			File:    "dedupe/redisdedupe/native.go",
			Old:     `"IFEQ", claim, "PX", s.cfg`,
			New:     `"XX", "PX", s.cfg`,
			Package: "dedupe/redisdedupe", Test: "TestD2_NativeEndsOnlyItsOwn",
		},
		{
			Name: "redis-done-is-claimed", Breaks: []string{"D3"},
			Change:  "a message that is done is claimed again",
			File:    "dedupe/redisdedupe/lua/claim.lua",
			Old:     `if state == 'D' then`,
			New:     `if state == 'X' then`,
			Package: "dedupe/redisdedupe", Test: "TestStore_ConformanceInProcess/D3_DoneIsTerminal",
		},
		{
			Name: "redis-takeover-before-the-end", Breaks: []string{"D4"},
			Change:  "a lease is taken over when half of it is left",
			File:    "dedupe/redisdedupe/lua/claim.lua",
			Old:     `local left = pttl - (ttl - lease)`,
			New:     `local left = pttl - (ttl - lease / 2)`,
			Package: "dedupe/redisdedupe", Test: "TestStore_Conformance/D4_TakeoverOnlyAfterTheLease", Needs: Redis,
		},
	}
}

// recordMutants break how long a record lasts, and what may be done twice, in every store.
func recordMutants() []Mutant {
	return []Mutant{
		{
			Name: "redis-lease-beyond-the-ttl", Breaks: []string{"D4"},
			Change:  "a record is forgotten before its lease ends",
			File:    "dedupe/redisdedupe/store.go",
			Old:     `ttl := max(s.cfg.TTL.Milliseconds(), 4*lease)`,
			New:     `ttl := s.cfg.TTL.Milliseconds()`,
			Package: "dedupe/redisdedupe", Test: "TestD4_LeaseOutlivesTheTTL",
		},
		{
			Name: "redis-claim-cannot-be-repeated", Breaks: []string{"D5"},
			Change:  "who repeats its own claim finds itself busy",
			File:    "dedupe/redisdedupe/lua/claim.lua",
			Old:     `if left > 0 and token == ARGV[1] then`,
			New:     `if left > 0 and token == '' then`,
			Package: "dedupe/redisdedupe", Test: "TestStore_ConformanceInProcess/D5_EveryStepCanBeRepeated",
		},
		{
			Name: "redis-complete-cannot-be-repeated", Breaks: []string{"D5"},
			Change:  "who repeats its own completion is refused",
			File:    "dedupe/redisdedupe/lua/complete.lua",
			Old:     `return holder == token and 1 or 3`,
			New:     `return holder == token and 2 or 3`,
			Package: "dedupe/redisdedupe", Test: "TestStore_ConformanceInProcess/D5_EveryStepCanBeRepeated",
		},
		{
			Name: "redis-lost-record-refuses", Breaks: []string{"D8"},
			Change:  "the loss of a record makes its run fail",
			File:    "dedupe/redisdedupe/lua/complete.lua",
			Old:     `ttl .. ' ', 5`,
			New:     `ttl .. ' ', 2`,
			Package: "dedupe/redisdedupe", Test: "TestStore_ConformanceInProcess/D8_LosingTheRecordUnderAHandler",
		},
		{
			Name: "redis-clock-that-stepped", Breaks: []string{"D6"},
			Change:  "a lease under a clock that was set back lasts as long as that",
			File:    "dedupe/redisdedupe/lua/claim.lua",
			Old:     `if pttl < 0 or pttl > ttl then`,
			New:     `if pttl < 0 then`,
			Package: "dedupe/redisdedupe", Test: "TestD6_ClockJump", Needs: Redis,
		},
		{
			Name: "postgres-takeover-before-the-end", Breaks: []string{"D4"},
			Change:  "a lease in PostgreSQL is taken over before it ends",
			File:    "dedupe/pgdedupe/sql/claim.sql",
			Old:     `d.lease_until <= clock_timestamp() OR d.token = $3)`,
			New:     `d.lease_until <= 'infinity' OR d.token = $3)`,
			Package: "dedupe/pgdedupe", Test: "TestStore_Conformance/D4_TakeoverOnlyAfterTheLease", Needs: Postgres,
		},
		{
			Name: "memory-done-is-claimed", Breaks: []string{"D3"},
			Change: "the store in memory gives a message out again that is done",
			File:   "dedupe/internal/records/record.go",
			Old: `	case r.Done:
		return dedupe.Claim{`,
			New: `	case r.Done && r.Released:
		return dedupe.Claim{`,
			Package: "dedupe/memdedupe", Test: "TestStore_Conformance/D3_DoneIsTerminal",
		},
	}
}
