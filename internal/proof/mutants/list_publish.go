package mutants

// publishMutants break how the relay and Kafka's sink publish a page.
func publishMutants() []Mutant {
	return []Mutant{
		{
			Name: "call-of-the-sink-is-not-bounded", Breaks: []string{"O9"},
			Change:  "a call of the sink may outlast its publish timeout, and with it the lease",
			File:    "outbox/relay/sender_send.go",
			Old:     `context.WithTimeout(work, r.cfg.PublishTimeout)`,
			New:     `context.WithTimeout(work, time.Hour)`,
			Package: "outbox/relay", Test: "TestPublishTimeout", Hangs: true,
		},
		{
			Name: "times-are-the-messages-fault", Breaks: []string{"O7"},
			Change:  "a message whose time Kafka refuses is parked",
			File:    "outbox/kafkasink/classify.go",
			Old:     `		kerr.InvalidRecord,`,
			New:     `		kerr.InvalidRecord, kerr.InvalidTimestamp,`,
			Package: "outbox/kafkasink", Test: "TestO7_TimesThatKafkaRefuses", Needs: Kafka,
		},
		{
			Name: "refused-times-are-forgotten", Breaks: []string{"O7"},
			Change:  "a message whose time Kafka refuses is sent with it for ever",
			File:    "outbox/kafkasink/client.go",
			Old:     `untimely: s.page.untimely}`,
			New:     `}`,
			Package: "outbox/kafkasink", Test: "TestO7_TimesThatKafkaRefuses", Needs: Kafka,
		},
		{
			Name: "flush-before-all-are-placed", Breaks: []string{"O5", "R11"},
			Change:  "the client is flushed while records are still on their way into its buffer",
			File:    "outbox/kafkasink/produce.go",
			Old:     `	r.unplaced.Store(int64(n))`,
			New:     `	r.unplaced.Store(1)`,
			Package: "outbox/kafkasink", Test: "TestO5_RejectedWhileTheClientIsStillBuffering",
		},
		{
			Name: "all-of-a-rejected-batch-fail", Breaks: []string{"O7"},
			Change:  "a rejected batch counts as an attempt of each of its records",
			File:    "outbox/kafkasink/produce.go",
			Old:     `		together[lane] = 0`,
			New:     `		together[lane] = count`,
			Package: "outbox/kafkasink", Test: "TestO5_RejectedWhileTheClientIsStillBuffering",
		},
	}
}
