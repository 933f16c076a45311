package mutants

// settleMutants break how pages are sent and settled.
func settleMutants() []Mutant {
	return []Mutant{
		{
			Name: "advance-before-the-ack", Breaks: []string{"O2", "O12"},
			Change:  "a page is settled before it is sent",
			File:    "outbox/relay/mode_key.go",
			Old:     `	if !m.undisturbed() {`,
			New:     `	if d.store(work, len(page.Records)) != nil || !m.undisturbed() {`,
			Package: "outbox/memoutbox", Test: "TestRelayConformance/Relay_O12_PositionStopsAtTheFailure",
		},
		{
			Name: "failed-page-is-settled", Breaks: []string{"O2"},
			Change:  "the sink's answer for single records is not looked at",
			File:    "outbox/relay/mode_key.go",
			Old:     `case err == nil && firstFailure(results) == nil:`,
			New:     `case err == nil:`,
			Package: "outbox/relay", Test: "TestO5_OnlyWhatFailedIsSentAgain",
		},
		{
			Name: "position-passes-a-failed-record", Breaks: []string{"O12"},
			Change:  "a page is settled to its end although a record of it failed",
			File:    "outbox/relay/mode_key_page.go",
			Old:     `if err := d.store(work, d.todo[0]); err != nil {`,
			New:     `if err := d.store(work, len(d.page.Records)); err != nil {`,
			Package: "outbox/memoutbox", Test: "TestRelayConformance/Relay_O12_PositionStopsAtTheFailure",
		},
		{
			Name: "not-sent-counts-as-sent", Breaks: []string{"O2"},
			Change:  "a record that was not sent is taken for delivered",
			File:    "outbox/relay/mode_key_results.go",
			Old:     `if results[i].Err == nil || d.takeFailure(`,
			New:     `if results[i].Err == nil || outbox.KindOf(results[i].Err) == outbox.FailureNotSent || d.takeFailure(`,
			Package: "outbox/relay", Test: "TestO5_OnlyWhatFailedIsSentAgain",
		},
		{
			Name: "short-answers-are-accepted", Breaks: []string{"O12"},
			Change:  "a sink may return fewer results than records",
			File:    "outbox/relay/sender_send.go",
			Old:     `if len(results) != len(records) {`,
			New:     `if len(results) > len(records) {`,
			Package: "outbox/relay", Test: "TestO12_WrongNumberOfResults",
		},
		{
			Name: "acked-records-are-sent-again", Breaks: []string{"O10"},
			Change:  "after a failure the whole page is sent again",
			File:    "outbox/relay/mode_key_results.go",
			Old:     `	d.removeTodo(gone)`,
			New:     `	d.removeTodo(gone[:0])`,
			Package: "outbox/relay", Test: "TestO5_OnlyWhatFailedIsSentAgain", Hangs: true,
		},
		{
			Name: "memory-goes-back-before-its-page-is-sent", Breaks: []string{"O4"},
			Change:  "the memory of a page is used again while the sink is at it",
			File:    "outbox/relay/mode_key.go",
			Old:     `	results, took, err := m.s.send(stop, work, page.Records)`,
			New:     "	m.s.recycle(page)\n	results, took, err := m.s.send(stop, work, page.Records)",
			Package: "outbox/pgoutbox", Test: "TestO4_MemoryThatIsUsedAgain", Needs: Kafka,
		},
		{
			Name: "memory-goes-back-before-its-page-is-settled", Breaks: []string{"O4"},
			Change:  "the memory of a page is used again while its position is still to be stored",
			File:    "outbox/relay/mode_key.go",
			Old:     `		if err := d.store(work, len(page.Records)); err != nil {`,
			New:     "		m.s.recycle(page)\n		if err := d.store(work, len(page.Records)); err != nil {",
			Package: "outbox/relay", Test: "TestRelay_Recycles",
		},
		{
			Name: "memory-goes-back-although-a-hook-may-keep-it", Breaks: []string{"O4"},
			Change:  "the memory of a page is used again although a hook was shown it that has not said that it looks no more",
			File:    "outbox/relay/sender.go",
			Old:     `isShown && ok {`,
			New:     `isShown && !ok {`,
			Package: "outbox/relay", Test: "TestRelay_Recycles",
		},
		{
			Name: "page-goes-on-in-memory-that-is-given-back", Breaks: []string{"O4"},
			Change:  "the records behind a full page are in its last slab, which is used again before they are sent",
			File:    "outbox/pgoutbox/decode.go",
			Old:     `d.last, d.bytes = memory{records: page, slabs: d.owned}, nil`,
			New:     `d.last = memory{records: page, slabs: d.owned}`,
			Package: "outbox/pgoutbox", Test: "TestDecoder_UsesMemoryAgain",
		},
	}
}

// orderMutants break the order of a page and of the keys that are held.
func orderMutants() []Mutant {
	return []Mutant{
		{
			Name: "pages-overlap", Breaks: []string{"O5"},
			Change:  "without read-ahead the next page is read before the last is settled",
			File:    "outbox/relay/reader.go",
			Old:     `if r.term.relay.cfg.ReadAhead == NoReadAhead {`,
			New:     `if r.term.relay.cfg.ReadAhead > 0 {`,
			Package: "outbox/relay", Test: "TestO5_OnePageAtATime",
		},
		{
			Name: "key-goes-on-behind-a-held-record", Breaks: []string{"O5", "O6"},
			Change:  "later records of a key that is held are sent",
			File:    "outbox/relay/mode_key_plan.go",
			Old:     `		case d.isHeld(r):`,
			New:     `		case d.isHeld(r) && r.Key == "":`,
			Package: "outbox/relay", Test: "TestO6_ManyParkedKeys",
		},
		{
			Name: "park-does-not-block-the-page", Breaks: []string{"O6"},
			Change:  "the later records of the same page pass one that is parked",
			File:    "outbox/relay/mode_key_plan.go",
			Old:     `d.blocked[driver.Key{Topic: r.Topic, Key: r.Key}] = struct{}{}`,
			New:     `d.blocked[driver.Key{Topic: r.Topic}] = struct{}{}`,
			Package: "outbox/relay", Test: "TestO6_ManyParkedKeys",
		},
		{
			Name: "park-does-not-block-later-pages", Breaks: []string{"O6"},
			Change:  "the records of later pages pass one that is parked",
			File:    "outbox/relay/held_store.go",
			Old:     `		h.keys[driver.Key{Topic: r.Topic, Key: r.Key}] = struct{}{}`,
			New:     `		h.keys[driver.Key{Topic: r.Topic}] = struct{}{}`,
			Package: "outbox/relay", Test: "TestO6_ManyParkedKeys",
		},
		{
			Name: "held-keys-are-not-loaded", Breaks: []string{"O6"},
			Change:  "a new leader does not know which keys are held",
			File:    "outbox/relay/held.go",
			Old:     `		h.keys[key] = struct{}{}`,
			New:     `		h.keys[driver.Key{Topic: key.Topic}] = struct{}{}`,
			Package: "outbox/relay", Test: "TestO6_NextLeaderKnowsWhatIsHeld",
		},
		{
			Name: "poison-blocks-its-page", Breaks: []string{"O7"},
			Change:  "a record that fails is tried ten times before it is set aside",
			File:    "outbox/relay/mode_key_results.go",
			Old:     `(n == 1 || out) {`,
			New:     `(n < 10 || out) {`,
			Package: "outbox/relay", Test: "TestO7_PoisonCostsTheOthersOneMoreCall",
		},
	}
}

// failureMutants break what a relay makes of failures.
func failureMutants() []Mutant {
	return []Mutant{
		{
			Name: "probes-that-hang-hold-others-up", Breaks: []string{"O7"},
			Change:  "a destination that is away is probed however long that takes",
			File:    "outbox/relay/breaker_learn.go",
			Old:     `wait = max(wait, 4*took)`,
			New:     `wait = max(wait, took/1000)`,
			Package: "outbox/relay", Test: "TestO7_ProbesThatHang",
		},
		{
			Name: "held-records-are-not-capped", Breaks: []string{"O7"},
			Change:  "more records than MaxHeld are set aside",
			File:    "outbox/relay/held_room.go",
			Old:     `return h.count+pending < h.s.relay.cfg.MaxHeld`,
			New:     `return h.count+pending <= 2*h.s.relay.cfg.MaxHeld`,
			Package: "outbox/relay", Test: "TestO7_MaxHeld",
		},
		{
			Name: "outage-counts-attempts", Breaks: []string{"O8"},
			Change:  "an outage is an attempt of each record",
			File:    "outbox/relay/sender_failure.go",
			Old:     `case outbox.FailureNotSent, outbox.FailureOutage:`,
			New:     `case outbox.FailureNotSent:`,
			Package: "outbox/relay", Test: "TestO8_OutageOfOneTopic",
		},
		{
			Name: "outage-that-nobody-names", Breaks: []string{"O8"},
			Change:  "failures of many keys in a row are not taken for an outage",
			File:    "outbox/relay/breaker_learn.go",
			Old:     `case !b.open && suspect && len(b.failed) < suspectKeys:`,
			New:     `case !b.open && suspect:`,
			Package: "outbox/relay", Test: "TestO8_MisclassifiedOutage",
		},
		{
			Name: "one-attempt-too-many", Breaks: []string{"O6"},
			Change:  "<= for < where the policy's attempts are counted",
			File:    "outbox/relay/sender_failure.go",
			Old:     `kind != outbox.FailurePermanent && n < p.Attempts {`,
			New:     `kind != outbox.FailurePermanent && n <= p.Attempts {`,
			Package: "outbox/relay", Test: "TestPolicies",
		},
		{
			Name: "total-order-overtakes-what-is-held", Breaks: []string{"O2", "O5"},
			Change:  "a relay in total order begins although records are set aside",
			File:    "outbox/relay/mode.go",
			Old:     `if err == nil && n > 0 {`,
			New:     `if err == nil && n < 0 {`,
			Package: "outbox/relay", Test: "TestO5_TotalOrderAfterHeldRecords",
		},
		{
			Name: "total-order-goes-on", Breaks: []string{"O5"},
			Change:  "in total order a record that failed is passed",
			File:    "outbox/relay/mode_total.go",
			Old:     `			err = results[0].Err`,
			New:     `			_ = results[0].Err`,
			Package: "outbox/relay", Test: "TestO5_TotalOrder", Hangs: true,
		},
		{
			Name: "unavailable-topics-wait-like-outages", Breaks: []string{"O7"},
			Change:  "records of a topic that the destination does not take are set aside as slowly as in an outage of all",
			File:    "outbox/relay/mode_key_plan.go",
			Old:     `case !b.refused && !mayHold() ||`,
			New:     `case !mayHold() ||`,
			Package: "outbox/relay", Test: "TestO7_MissingTopics",
		},
		{
			Name: "one-probe-for-each-unavailable-topic", Breaks: []string{"O7"},
			Change:  "the sink is not asked about topics, but a record of each is tried",
			File:    "outbox/relay/breaker.go",
			Old:     `bs.unavailable.checker, _ = r.sink.(driver.TopicChecker)`,
			New:     `_, _ = r.sink.(driver.TopicChecker)`,
			Package: "outbox/relay", Test: "TestO7_MissingTopics",
		},
	}
}

// termMutants break how a relay keeps and gives up its lease.
func termMutants() []Mutant {
	return []Mutant{
		{
			Name: "send-into-the-end-of-a-lease", Breaks: []string{"O9"},
			Change:  "a send begins although the lease may end before it",
			File:    "outbox/relay/sender_send.go",
			Old:     `s.term.lease.await(work, s.relay.cfg.PublishTimeout)`,
			New:     `s.term.lease.await(work, 0)`,
			Package: "outbox/relay", Test: "TestO9_NoSendIntoTheEndOfALease",
		},
		{
			Name: "lease-counts-from-the-answer", Breaks: []string{"O9"},
			Change:  "a lease is counted from when it was granted, not from when it was asked for",
			File:    "outbox/relay/relay.go",
			Old:     `asked.Add(r.cfg.Lease)`,
			New:     `asked.Add(r.cfg.Lease + time.Since(asked))`,
			Package: "outbox/relay", Test: "TestO9_SlowAcquireCounts",
		},
		{
			Name: "renewal-that-hangs-is-waited-for", Breaks: []string{"O9"},
			Change:  "a relay does not fence itself while a renewal hangs",
			File:    "outbox/relay/renew.go",
			Old:     `time.AfterFunc(remaining-cfg.LeaseMargin, func() { t.lose(driver.ErrLeaseLost) }).Stop()`,
			New:     `time.AfterFunc(remaining+cfg.Lease, func() { t.lose(driver.ErrLeaseLost) }).Stop()`,
			Package: "outbox/relay", Test: "TestO9_RenewBehindAHangingCall", Hangs: true,
		},
		{
			Name: "lease-is-renewed-too-late", Breaks: []string{"O14"},
			Change:  "a lease is renewed after two thirds of it",
			File:    "outbox/relay/config.go",
			Old:     `return max(min(c.Lease/3, c.Lease-c.PublishTimeout-c.LeaseMargin), c.Lease/30)`,
			New:     `return max(min(c.Lease*2/3, c.Lease-c.PublishTimeout-c.LeaseMargin), c.Lease/30)`,
			Package: "outbox/relay", Test: "TestO14_RenewedEveryThird",
		},
		{
			Name: "standby-waits-too-long", Breaks: []string{"O14"},
			Change:  "a standby looks again after a lease, whatever is left of the other's",
			File:    "outbox/relay/relay.go",
			Old:     `wait := r.cfg.Lease / 5`,
			New:     `wait := 5 * r.cfg.Lease`,
			Package: "outbox/relay", Test: "TestO14_StandbyWaits",
		},
		{
			Name: "stop-cuts-off-what-is-sent", Breaks: []string{"O13"},
			Change:  "a stop ends the call of the sink that is under way",
			File:    "outbox/relay/term.go",
			Old:     `context.WithCancelCause(context.WithoutCancel(ctx))`,
			New:     `context.WithCancelCause(ctx)`,
			Package: "outbox/relay", Test: "TestO13_StopAwaitsTheAcks",
		},
		{
			Name: "stop-is-not-bounded", Breaks: []string{"O13"},
			Change:  "a stop waits for a sink that hangs",
			File:    "outbox/relay/term.go",
			Old:     `func() { cancel(ErrDrainTimeout) }`,
			New:     `func() {}`,
			Package: "outbox/relay", Test: "TestO13_StopIsBounded", Hangs: true,
		},
		{
			Name: "lease-is-not-given-up", Breaks: []string{"O13"},
			Change:  "a stopped relay keeps its lease",
			File:    "outbox/relay/term.go",
			Old:     `if rerr := t.session.Release(ctx); rerr != nil {`,
			New:     `if rerr := ctx.Err(); rerr != nil {`,
			Package: "outbox/relay", Test: "TestO13_StopAwaitsTheAcks",
		},
	}
}
