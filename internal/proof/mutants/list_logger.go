package mutants

// loggerMutants break the log lines that an operator gets without asking.
func loggerMutants() []Mutant {
	return []Mutant{
		{
			Name: "default-logger-discards", Breaks: []string{"A3"},
			Change:  "a Config without a Logger says nothing",
			File:    "internal/logger/logger.go",
			Old:     `		return slog.New(limit(slog.Default().Handler(), slog.LevelWarn))`,
			New:     `		return slog.New(slog.DiscardHandler)`,
			Package: "internal/logger", Test: "TestA3_DefaultLoggerWarns",
		},
		{
			Name: "every-warning-is-a-line", Breaks: []string{"A3"},
			Change:  "a warning that comes again within a minute is logged again",
			File:    "internal/logger/limit.go",
			Old:     `	if known.total == 1 && !others {`,
			New:     `	if known.total > 0 {`,
			Package: "outbox/relay", Test: "TestA3_OutageIsALineAMinute",
		},
		{
			Name: "outage-ends-without-a-word", Breaks: []string{"A3"},
			Change:  "the default logger hides that a destination is back",
			File:    "internal/logger/logger.go",
			Old:     `		h = limited.Handler`,
			New:     `		h = limited`,
			Package: "outbox/relay", Test: "TestA3_DefaultLoggerNamesTheGroup",
		},
		{
			Name: "page-that-cannot-be-read-is-healthy", Breaks: []string{"A3"},
			Change:  "a relay whose every lease ends at the same page raises no alarm",
			File:    "outbox/relay/still.go",
			Old:     `u.times >= stillTimes &&`,
			New:     `u.times >= 1000*stillTimes &&`,
			Package: "outbox/relay", Test: "TestA3_PageThatCannotBeRead",
		},
		{
			Name: "alarm-outlasts-the-other-replica", Breaks: []string{"A3"},
			Change:  "the alarm for a page that cannot be read stays although another relay has read it",
			File:    "outbox/relay/slots.go",
			Old:     `	r.watch.forget(&r.cfg)`,
			New:     ``,
			Package: "outbox/relay", Test: "TestA3_PageThatCannotBeRead_ByReplicas",
		},
		{
			Name: "subscriber-waits-without-a-word", Breaks: []string{"A3"},
			Change:  "a subscriber whose topic is missing does not say so",
			File:    "inbox/kafkasource/topic.go",
			Old:     `			told = m.explainWait(ctx, told)`,
			New:     `			_ = told`,
			Package: "inbox/kafkasource", Test: "TestA3_SubscriberTellsWhyItReadsNothing", Needs: Kafka,
		},
	}
}
