package mutants

// subscriberMutants break the Kafka subscriber.
func subscriberMutants() []Mutant {
	return []Mutant{
		{
			Name: "highest-acked-offset", Breaks: []string{"I3"},
			Change:  "offsets are committed above a message that is not acknowledged",
			File:    "inbox/kafkasource/window.go",
			Old:     `for passed < len(w.marks) && w.marks[passed].settled {`,
			New:     `for passed < len(w.marks) && (w.marks[passed].settled || passed < n-w.first) {`,
			Package: "inbox/kafkasource", Test: "TestI3_LowWatermark",
		},
		{
			Name: "a-key-runs-side-by-side", Breaks: []string{"O5"},
			Change:  "a record is delivered before the one before it of its key is settled",
			File:    "inbox/kafkasource/lanes.go",
			Old:     `busy.waiting = append(busy.waiting, it)`,
			New:     `heap.Push(&l.ready, it)`,
			Package: "inbox/kafkasource", Test: "TestLanes_KeepTheOrderOfAKey",
		},
		{
			Name: "offset-of-another-topic", Breaks: []string{"I8"},
			Change:  "the offset of a topic that was deleted is used for its successor",
			File:    "inbox/kafkasource/seek.go",
			Old:     `if at.Offset >= 0 && foreign[partition] {`,
			New:     `if at.Offset < -2 && foreign[partition] {`,
			Package: "inbox/kafkasource", Test: "TestI8_OffsetOfAnotherTopic", Needs: Kafka,
		},
		{
			Name: "close-does-not-commit", Breaks: []string{"I3"},
			Change:  "what was acknowledged is not committed when the subscriber closes",
			File:    "inbox/kafkasource/rebalance.go",
			Old:     `m.commitFinally(ctx, parts)`,
			New:     `m.commitFinally(ctx, nil)`,
			Package: "inbox/kafkasource", Test: "TestI3_CloseDrainsAndCommits", Needs: Kafka,
		},
		{
			Name: "failed-batch-is-committed", Breaks: []string{"I3"},
			Change:  "offsets of a batch are committed past a message that failed",
			File:    "inbox/kafkasource/batches.go",
			Old:     `if errs[i] != nil || lost != nil {`,
			New:     `if errs[i] != nil && lost != nil {`,
			Package: "inbox/kafkasource", Test: "TestI3_BatchCommitsThePrefixThatIsDone", Needs: Kafka,
		},
	}
}
