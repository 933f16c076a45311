package mutants

// loggerMutants break what an operator is told without having asked.
func loggerMutants() []Mutant {
	return []Mutant{
		{
			Name: "default-logger-discards", Breaks: []string{"A3"},
			Change:  "a Config without a Logger says nothing",
			File:    "internal/logger/logger.go",
			Old:     `	return slog.New(warnings{slog.Default().Handler()})`,
			New:     `	return slog.New(slog.DiscardHandler)`,
			Package: "internal/logger", Test: "TestA3_DefaultLoggerWarns",
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
