package mutants

// pauseMutants break the rules that hold while an operator has paused a group or topics of it.
func pauseMutants() []Mutant {
	return []Mutant{
		{
			Name: "paused-topic-is-sent", Breaks: []string{"O6"},
			Change:  "what is paused reaches the destination all the same",
			File:    "outbox/relay/allowed.go",
			Old:     `return outbox.Failed(outbox.FailureOutage, err).Err`,
			New:     `return nil`,
			Package: "outbox/relay", Test: "TestO6_PausedTopicWaits",
		},
		{
			Name: "pause-counts-attempts", Breaks: []string{"O8"},
			Change:  "records of a paused topic count attempts, and are parked",
			File:    "outbox/relay/allowed.go",
			Old:     `return outbox.Failed(outbox.FailureOutage, err).Err`,
			New:     `return outbox.Failed(outbox.FailurePermanent, err).Err`,
			Package: "outbox/relay", Test: "TestO6_PausedTopicWaits",
		},
		{
			Name: "paused-group-is-set-aside", Breaks: []string{"O6"},
			Change:  "a group that is paused as a whole copies its log into the held records",
			File:    "outbox/relay/mode_key_plan.go",
			Old:     `return nil // and nothing is set aside`,
			New:     `_ = now`,
			Package: "outbox/relay", Test: "TestO6_PausedGroupAfterATopic",
		},
		{
			Name: "relay-begins-before-it-knows-what-is-paused", Breaks: []string{"O6"},
			Change:  "a relay that takes over sends what is paused until it first asks",
			File:    "outbox/relay/term.go",
			Old:     `err = t.relay.pauses.refresh(work, t.relay.source, t.relay.cfg.PublishTimeout)`,
			New:     `_ = t.relay.pauses.refresh(work, t.relay.source, t.relay.cfg.PublishTimeout)`,
			Package: "outbox/relay", Test: "TestPause_WhatWasKnownHolds",
		},
		{
			Name: "transaction-passes-what-is-paused", Breaks: []string{"O12"},
			Change:  "a transactional sink is given records that are paused",
			File:    "outbox/relay/allowed.go",
			Old:     `return &driver.PrefixError{N: i, Err: err}`,
			New:     `_ = driver.PrefixError{N: i, Err: err}`,
			Package: "outbox/relay", Test: "TestO12_PauseOfATransactionalSink",
		},
	}
}
