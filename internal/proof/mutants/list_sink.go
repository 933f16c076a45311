package mutants

// sinkMutants break how sinks deliver.
func sinkMutants() []Mutant {
	return []Mutant{
		{
			Name: "publisher-goes-on-behind-a-failure", Breaks: []string{"O5"},
			Change:  "later records of a key are published behind one that failed",
			File:    "outbox/wmsink/call.go",
			Old:     `	q.held[order{r.Topic, r.Key}] = struct{}{}`,
			New:     `	q.held[order{r.Topic, ""}] = struct{}{}`,
			Package: "outbox/wmsink", Test: "TestO7_FailureHoldsBackItsKeyOnly",
		},
		{
			Name: "call-that-hangs-is-forgotten", Breaks: []string{"O5"},
			Change:  "a message that was acknowledged late is published again, behind later ones",
			File:    "outbox/wmsink/sink.go",
			Old:     `if !c.settle(q, j.place, result) && result.Err == nil {`,
			New:     `if !c.settle(q, j.place, result) && result.Err != nil {`,
			Package: "outbox/wmsink", Test: "TestO5_LateMessageStaysInFront",
		},
		{
			Name: "function-goes-on-behind-a-failure", Breaks: []string{"O5"},
			Change:  "a function sink goes on with a key behind its first failure",
			File:    "outbox/relay/func.go",
			Old:     `		keys[keyOf(r)] = struct{}{}`,
			New:     `		keys[Key{Topic: r.Topic}] = struct{}{}`,
			Package: "outbox/relay", Test: "TestO5_FuncStopsAKeyAtItsFirstFailure",
		},
		{
			Name: "kafka-client-lives-on", Breaks: []string{"O5"},
			Change:  "the client that a batch was rejected on is used again",
			File:    "outbox/kafkasink/produce.go",
			Old:     "	if len(r.failures) > 0 {\n		s.drop()",
			New:     "	if len(r.failures) > len(records) {\n		s.drop()",
			Package: "outbox/kafkasink", Test: "TestO5_RejectedBatchStopsItsPartition", Needs: Kafka,
		},
		{
			Name: "rejected-batch-judges-its-records", Breaks: []string{"O7"},
			Change:  "every record of a rejected batch is taken for the culprit",
			File:    "outbox/kafkasink/produce.go",
			Old:     `if kind == outbox.FailurePermanent && count > 1 {`,
			New:     `if kind == outbox.FailurePermanent && count > 1<<30 {`,
			Package: "outbox/kafkasink", Test: "TestO7_RejectedRecordIsFoundInItsBatch", Needs: Kafka,
		},
		{
			Name: "oversize-record-is-produced", Breaks: []string{"O7"},
			Change:  "the size of a record is not looked at before it is sent",
			File:    "outbox/kafkasink/size.go",
			Old:     `return rough <= limit || batchSize(r) <= limit`,
			New:     `return rough <= limit || batchSize(r) > 0`,
			Package: "outbox/kafkasink", Test: "TestO7_OversizeRecordHoldsBackItsKeyOnly", Needs: Kafka,
		},
		{
			Name: "partitions-change-within-a-call", Breaks: []string{"O5"},
			Change:  "a topic that grows splits a key within one call",
			File:    "outbox/kafkasink/partition.go",
			Old:     `round != t.round || t.count > n {`,
			New:     `round != t.round || t.count != n {`,
			Package: "outbox/kafkasink", Test: "TestPartition_KeepsTheCountForOneCall",
		},
		{
			Name: "empty-payload-is-a-tombstone", Breaks: []string{"O4"},
			Change:  "an empty payload becomes a null value",
			File:    "outbox/kafkasink/page.go",
			Old:     `		return []byte{}`,
			New:     `		return nil`,
			Package: "outbox/kafkasink", Test: "TestO4_RecordCarriesEveryField", Needs: Kafka,
		},
		{
			Name: "waits-for-any-number-of-topics", Breaks: []string{"O7"},
			Change:  "a call waits for thousands of topics that the cluster does not have",
			File:    "outbox/kafkasink/lookup.go",
			Old:     `if (late <= mostAwaited ||`,
			New:     `if (late > 0 ||`,
			Package: "outbox/kafkasink", Test: "TestO7_ThousandsOfMissingTopics",
		},
		{
			Name: "publishers-that-lose-are-taken", Breaks: []string{"O2"},
			Change:  "a publisher is taken that returns before the broker has the message",
			File:    "outbox/wmsink/publishers.go",
			Old:     `"ConfirmDelivery"); ok && !on {`,
			New:     `"ConfirmDelivery"); !ok && !on {`,
			Package: "outbox/wmsink", Test: "TestO2_PublishersThatLoseAreRefused",
		},
	}
}
