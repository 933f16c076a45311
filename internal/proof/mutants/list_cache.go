package mutants

// cacheMutants break the caches in front of the inbox.
func cacheMutants() []Mutant {
	return []Mutant{
		{
			Name: "cache-rests-by-the-wall-clock", Breaks: []string{"I9"},
			Change:  "a cache that failed while our clock was ahead is left alone until that time has come",
			File:    "inbox/twotier/processor.go",
			Old:     `t.until.Store(int64(clocks.Passed() + p.cfg.RetryAfter))`,
			New:     `t.until.Store(time.Now().Add(p.cfg.RetryAfter).UnixNano())`,
			Package: "inbox/twotier", Test: "TestI1_ClockThatJumps",
		},
		{
			Name: "cache-with-ids-of-its-own", Breaks: []string{"I9"},
			Change:  "the cache knows messages by other ids than the inbox",
			File:    "inbox/twotier/processor.go",
			Old:     `p.in.MessageID(msg)`,
			New:     `inbox.DefaultIDSource().Find(msg)`,
			Package: "inbox/twotier", Test: "TestI9_IDsAreTheInboxs",
		},
		{
			Name: "skip-in-another-history", Breaks: []string{"I9"},
			Change:  "an id is skipped that was committed before a failover",
			File:    "inbox/twotier/processor.go",
			Old:     `basis.Same(basis.ErrOtherHistory, "scope", scope, now)`,
			New:     `basis.Same(basis.ErrOtherHistory, "scope", now, now)`,
			Package: "inbox/twotier", Test: "TestI9_LostCommit",
		},
		{
			Name: "skip-by-an-old-scope", Breaks: []string{"I9"},
			Change:  "the scope is one from before the message was received",
			File:    "inbox/twotier/processor.go",
			Old:     `now, err := p.scopes.now(ctx)`,
			New:     `now, err := p.scopes.known(ctx)`,
			Package: "inbox/twotier", Test: "TestI9_SkipsOnlyWhatIsCommittedInThisScope",
		},
		{
			Name: "one-read-serves-those-after-it", Breaks: []string{"I9"},
			Change:  "a read of the scope serves a message that came after it had begun",
			File:    "inbox/twotier/scope.go",
			Old:     `s.reading, s.next = true, nil`,
			New:     `s.reading, s.next = true, r`,
			Package: "inbox/twotier", Test: "TestI9_OneReadServesAllWhoWait", Hangs: true,
		},
	}
}
