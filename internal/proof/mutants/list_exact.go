package mutants

// exactMutants break the mode that is exactly once into Kafka.
func exactMutants() []Mutant {
	return []Mutant{
		{
			Name: "position-ahead-of-the-database", Breaks: []string{"R12", "O2"},
			Change:  "a sink that has come further than the database is believed",
			File:    "outbox/pgoutbox/positioned.go",
			Old:     `to.No, n.Window().No),`,
			New:     `n.Window().No, n.Window().No),`,
			Package: "outbox/pgoutbox", Test: "TestO2_SeekRefusesADatabaseThatWentBack", Needs: Postgres,
		},
		{
			Name: "positions-of-another-group-are-removed", Breaks: []string{"R12"},
			Change:  "an operator removes the positions of whichever group the topic is of",
			File:    "outbox/kafkasink/positions_admin.go",
			Old:     `group != r.Group {`,
			New:     `group == "" {`,
			Package: "outbox/kafkasink", Test: "TestR12_RemovePositions", Needs: Kafka,
		},
		{
			Name: "position-is-read-before-fencing", Breaks: []string{"R12"},
			Change:  "no new producer is made before the position is read",
			File:    "outbox/kafkasink/transactional_lane.go",
			Old:     `if err := l.newProducer(ctx); err != nil {`,
			New:     `if err := ctx.Err(); err != nil {`,
			Package: "outbox/kafkasink", Test: "TestR12_ZombieIsFenced", Needs: Kafka,
		},
		{
			Name: "position-is-not-in-the-transaction", Breaks: []string{"R12"},
			Change:  "records are committed without the position behind them",
			File:    "outbox/kafkasink/transactional_send.go",
			Old:     `err := l.transact(ctx, l.sink.page.records)`,
			New:     `err := l.transact(ctx, l.sink.page.records[:len(records)])`,
			Package: "outbox/kafkasink", Test: "TestR12_PositionComesBack", Needs: Kafka,
		},
		{
			Name: "another-writer-of-positions", Breaks: []string{"R12"},
			Change:  "a record of another slot, or outside of a transaction, is taken for a position",
			File:    "outbox/kafkasink/positions_record.go",
			Old:     `if !l.owns(r) || !r.Attrs.IsTransactional() || r.Value == nil {`,
			New:     `if r.Value == nil {`,
			Package: "outbox/kafkasink", Test: "TestR12_PositionTopicIsChecked", Needs: Kafka,
		},
		{
			Name: "transaction-ends-before-partitions-are-listed", Breaks: []string{"R12"},
			Change:  "a transaction ends before the client lists the partitions that took part",
			File:    "outbox/kafkasink/transactional_listed.go",
			Old:     `leader != notListed {`,
			New:     `leader >= notListed {`,
			Package: "outbox/kafkasink", Test: "TestR12_TransactionEndsWhenPartitionsAreListed",
		},
		{
			Name: "unknown-outcome-goes-on", Breaks: []string{"R12"},
			Change:  "after a commit without an answer the same client sends again",
			File:    "outbox/relay/mode_exact.go",
			Old:     "		if err != nil {\n			return s.term.fault(work, \"send\", err)",
			New:     "		if err != nil {\n			continue",
			Package: "outbox/relay", Test: "TestR12_UnknownOutcomeAsksTheSink", Hangs: true,
		},
		{
			Name: "sink-is-not-asked-where-it-is", Breaks: []string{"R12", "O10"},
			Change:  "a term begins at the position that the database knows",
			File:    "outbox/relay/mode_exact_begin.go",
			Old:     `if position != nil || !cfg.AdoptPosition {`,
			New:     `if position == nil && !cfg.AdoptPosition {`,
			Package: "outbox/relay", Test: "TestR12_ResumesWhereTheSinkIs",
		},
		{
			Name: "record-that-blocks-is-passed", Breaks: []string{"R12", "O2"},
			Change:  "a record that Kafka refuses is left out",
			File:    "outbox/relay/mode_exact.go",
			Old:     `until = done + prefix.N`,
			New:     `done, until = done+prefix.N, len(page.Records)`,
			Package: "outbox/relay", Test: "TestR12_PrefixIsCommittedThenBlocks", Hangs: true,
		},
		{
			Name: "seek-behind-what-is-stored", Breaks: []string{"R12", "O12"},
			Change:  "a position of the sink behind the stored one is accepted",
			File:    "outbox/pgoutbox/positioned.go",
			Old:     `	case to.Last < w.Last:`,
			New:     `	case to.Last < 0:`,
			Package: "outbox/pgoutbox", Test: "TestO2_SeekRefuses", Needs: Postgres,
		},
	}
}
