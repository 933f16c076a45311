package mutants

// httpMutants break rules of webhooks, sent and received.
func httpMutants() []Mutant {
	const sink, handler = "outbox/httpsink", "inbox/webhook"
	return []Mutant{
		{
			Name: "webhook-redirects-are-success", Breaks: []string{"O2"},
			Change:  "an answer of 302 counts as delivered",
			File:    sink + "/answer.go",
			Old:     `status >= 200 && status <= 299`,
			New:     `status >= 200 && status <= 399`,
			Package: sink, Test: "TestStatuses",
		},
		{
			Name: "webhook-reads-a-switched-protocol", Breaks: []string{"O7"},
			Change:  "what follows an answer of 101 is read to its end",
			File:    sink + "/attempt.go",
			Old:     `	if answer.StatusCode == http.StatusSwitchingProtocols {`,
			New:     `	if ctx = context.WithoutCancel(ctx); answer.StatusCode == -http.StatusSwitchingProtocols {`,
			Package: sink, Test: "TestO7_AnswersWithoutAnEnd", Hangs: true,
		},
		{
			Name: "webhook-goes-on-behind-a-failure", Breaks: []string{"O5"},
			Change: "behind a record that has failed, the next of its key is sent",
			File:   sink + "/send.go",
			Old: `		if result.Err != nil {
			return
		}`,
			New: `		if result.Err != nil && d.out.Load() {
			return
		}`,
			Package: sink, Test: "TestO5_KeysStopAtTheirFirstFailure",
		},
		{
			Name: "webhook-parks-for-a-clock", Breaks: []string{"O8"},
			Change:  "a record is parked since our clock is off the endpoint's, which refuses the signature",
			File:    sink + "/answer.go",
			Old:     `off.Abs() > apart {`,
			New:     `off.Abs() < 0 {`,
			Package: sink, Test: "TestO8_ClocksThatDiffer",
		},
		{
			Name: "webhook-waits-by-its-own-clock", Breaks: []string{"O7"},
			Change:  "a date until which an endpoint is to be left alone is compared with our clock, which may be behind",
			File:    sink + "/answer.go",
			Old:     `retryAfter(answer.Header.Get("Retry-After"), clock)`,
			New:     `retryAfter(answer.Header.Get("Retry-After"), clock.Add(-off))`,
			Package: sink, Test: "TestRetryAfter_IsKept/date,_other_clock",
		},
		{
			Name: "webhook-gone-is-an-outage", Breaks: []string{"O7"},
			Change:  "an endpoint that has answered 410 gets more",
			File:    sink + "/answer.go",
			Old:     `	if status == http.StatusGone {`,
			New:     `	if status == -http.StatusGone {`,
			Package: sink, Test: "TestGone",
		},
		{
			Name: "webhook-any-address", Breaks: []string{"O8"},
			Change: "a name that resolves to a private address is called",
			File:   sink + "/guard.go",
			Old:    `	return c.refuse(addr)`,
			New: `	_ = addr
	return nil`,
			Package: sink, Test: "TestGuard_Rebinding",
		},
		{
			Name: "webhook-retries-at-once", Breaks: []string{"O8"},
			Change:  "Retry-After is not kept",
			File:    sink + "/answer.go",
			Old:     `			e.rest(min(wait, s.cfg.MaxRetryAfter))`,
			New:     `			e.rest(min(wait, 0))`,
			Package: sink, Test: "TestRetryAfter_IsKept",
		},
		{
			Name: "webhook-names-of-svix-are-unknown", Breaks: []string{"A6"},
			Change:  "senders that are older than the specification are refused",
			File:    handler + "/standard.go",
			Old:     `len(h.Values(id)) > 0 {`,
			New:     `len(h.Values(id)) > 1 {`,
			Package: handler, Test: "TestStandard_NamesOfSvix",
		},
		{
			Name: "webhook-log-by-the-wall-clock", Breaks: []string{"O14"},
			Change:  "forged requests leave no line after our clock was ahead",
			File:    "inbox/webhook/hooks.go",
			Old:     `int64(clocks.Passed()), h.logged.Load()`,
			New:     `max(int64(clocks.Passed()), time.Now().UnixNano()), h.logged.Load()`,
			Package: handler, Test: "TestLog_ClockThatJumps",
		},
		{
			Name: "webhook-old-signatures-are-taken", Breaks: []string{"I1"},
			Change:  "a webhook that was recorded long ago is taken again",
			File:    handler + "/standard.go",
			Old:     `	if err := r.CheckTime(at); err != nil {`,
			New:     `	if err := r.CheckTime(at); err != nil && at.IsZero() {`,
			Package: handler, Test: "TestSpecification",
		},
		{
			Name: "webhook-parts-can-shift", Breaks: []string{"I1"},
			Change:  "an id may contain the timestamp that was signed",
			File:    handler + "/standard.go",
			Old:     `	case strings.Contains(id, "."):`,
			New:     `	case strings.Contains(id, "..."):`,
			Package: handler, Test: "TestStandard_ShiftedParts",
		},
		{
			Name: "webhook-busy-is-success", Breaks: []string{"I3"},
			Change:  "a webhook that is being handled elsewhere is acknowledged",
			File:    handler + "/handler.go",
			Old:     `		return http.StatusConflict`,
			New:     `		return http.StatusOK`,
			Package: handler, Test: "TestAnswers",
		},
		{
			Name: "webhook-unknown-commit-is-success", Breaks: []string{"I3"},
			Change: "a webhook is acknowledged although its commit may have failed",
			File:   handler + "/handler.go",
			Old:    `	case errors.Is(err, inbox.ErrNotClaimed), errors.Is(err, inbox.ErrCommitUnknown), errors.Is(err, inbox.ErrConflict),`,
			New: `	case errors.Is(err, inbox.ErrCommitUnknown):
		return http.StatusOK
	case errors.Is(err, inbox.ErrNotClaimed), errors.Is(err, inbox.ErrConflict),`,
			Package: handler, Test: "TestAnswers",
		},
	}
}

// natsMutants break rules of the sink for NATS JetStream.
func natsMutants() []Mutant {
	const folder = "outbox/natssink"
	return []Mutant{
		{
			Name: "nats-a-key-is-pipelined", Breaks: []string{"O5"},
			Change:  "the next message of a key is published before the first is acknowledged",
			File:    folder + "/send.go",
			Old:     `		case len(round) == c.most, key.Key != "" && taken[key]:`,
			New:     `		case len(round) == c.most, key.Key == "" && taken[key]:`,
			Package: folder, Test: "TestO5_RefusedInTheMiddle",
		},
		{
			Name: "nats-refused-is-sent", Breaks: []string{"O2"},
			Change:  "a message that the stream has refused counts as delivered",
			File:    folder + "/send.go",
			Old:     `	c.results[place] = outbox.Failed(kind, err)`,
			New:     `	if c.results[place] = outbox.Failed(kind, err); kind == outbox.FailurePermanent {` + "\n\t\tc.results[place] = outbox.Result{}\n\t}",
			Package: folder, Test: "TestPermanent",
		},
		{
			Name: "nats-no-id-for-the-stream", Breaks: []string{"O3"},
			Change:  "the stream is not told the id, by which it drops repeats",
			File:    folder + "/message.go",
			Old:     `	m.Header[outbox.HeaderWatermillUUID], m.Header[nats.MsgIdHdr] = []string{r.ID}, []string{identity(r)}`,
			New:     `	m.Header[outbox.HeaderWatermillUUID], m.Header["X"+nats.MsgIdHdr] = []string{r.ID}, []string{identity(r)}`,
			Package: folder, Test: "TestO3_RepeatsAreDropped",
		},
		{
			Name: "nats-one-id-is-one-record", Breaks: []string{"O2"},
			Change:  "the stream compares ids alone, and drops another record of the same id",
			File:    folder + "/message.go",
			Old:     `	return fmt.Sprintf("%s %d %d %s %s", r.Topic, r.Seq, r.CreatedAt.UnixMicro(), replay, r.ID)`,
			New:     `	return replay + r.ID`,
			Package: folder, Test: "TestSink_Conformance/O2_OneIDForManyRecords",
		},
		{
			Name: "nats-replays-are-repeats", Breaks: []string{"O2"},
			Change:  "the stream drops a replay of what it has",
			File:    folder + "/message.go",
			Old:     `	replay := cmp.Or(r.Replay, "-")`,
			New:     `	replay := cmp.Or("-", r.Replay)`,
			Package: folder, Test: "TestSink_Conformance/O2_ReplaysArrive",
		},
		{
			Name: "replays-have-no-name", Breaks: []string{"O2"},
			Change:  "a replay does not mark its records, so that a broker drops them as repeats",
			File:    "outbox/relay/replay_send.go",
			Old:     `r.cfg.Topic(w.record), r.name`,
			New:     `r.cfg.Topic(w.record), ""`,
			Package: "outbox/relay", Test: "TestO4_O5_Replay",
		},
		{
			Name: "nats-strange-answers-are-of-the-record", Breaks: []string{"O8"},
			Change:  "an error that JetStream has not sent is the failure of a record",
			File:    folder + "/classify.go",
			Old:     `	if refused.ErrorCode == 0 {`,
			New:     `	if refused.ErrorCode < 0 {`,
			Package: folder, Test: "TestO8_AnswersOfOthers",
		},
		{
			Name: "nats-topics-command-the-server", Breaks: []string{"S4"},
			Change:  "a record whose topic is a subject of the server's API is sent",
			File:    folder + "/message.go",
			Old:     `		if strings.HasPrefix(topic, beginning) {`,
			New:     `		if topic == beginning {`,
			Package: folder, Test: "TestS4_TopicsAndHeadersCommandNothing",
		},
		{
			Name: "nats-headers-command-the-server", Breaks: []string{"S4"},
			Change:  "a producer's header that commands the server is sent",
			File:    folder + "/message.go",
			Old:     `		if commands(name, r.Payload) {`,
			New:     `		if name == nats.MsgIdHdr && commands(name, r.Payload) {`,
			Package: folder, Test: "TestS4_TopicsAndHeadersCommandNothing",
		},
		{
			Name: "nats-no-stream-is-of-the-record", Breaks: []string{"O7"},
			Change:  "a subject that no stream has is the failure of a record",
			File:    folder + "/classify.go",
			Old:     `		return outbox.FailureOutage, true // no stream has the subject`,
			New:     `		return outbox.FailureUnknown, false // no stream has the subject`,
			Package: folder, Test: "TestTopics",
		},
	}
}

// brokerMutants break rules of the sinks for RabbitMQ and Redis Streams.
func brokerMutants() []Mutant {
	const rabbit, streams = "outbox/amqpsink", "outbox/redissink"
	return []Mutant{
		{
			Name: "redis-prefix-is-left-out", Breaks: []string{"S4"},
			Change:  "a topic names the stream of another application",
			File:    streams + "/send.go",
			Old:     `c.s.cfg.Prefix + r.Topic`,
			New:     `c.s.cfg.Prefix[:0] + r.Topic`,
			Package: streams, Test: "TestS4_PrefixBoundsTheStreams", Needs: Redis,
		},
		{
			Name: "amqp-unroutable-is-sent", Breaks: []string{"O2"},
			Change:  "a message that no queue takes counts as delivered",
			File:    rabbit + "/publish.go",
			Old:     `	if c.unbound[f.route] == 0 {`,
			New:     `	if c.unbound[f.route] >= 0 {`,
			Package: rabbit, Test: "TestO2_QueueDeleted", Needs: Rabbit,
		},
		{
			Name: "amqp-not-mandatory", Breaks: []string{"O2"},
			Change:  "the broker is not asked to return what no queue takes",
			File:    rabbit + "/publish.go",
			Old:     `	const mandatory, immediate = true, false`,
			New:     `	const mandatory, immediate = false, false`,
			Package: rabbit, Test: "TestO2_QueueDeleted", Needs: Rabbit,
		},
		{
			Name: "amqp-a-key-is-pipelined", Breaks: []string{"O5"},
			Change:  "the next message of a key is published before the first is confirmed",
			File:    rabbit + "/send.go",
			Old:     `		if again && r.Key != "" {`,
			New:     `		if again && r.Key == "" && false {`,
			Package: rabbit, Test: "TestSink_Conformance/classic/O5_RefusalStopsItsKey", Needs: Rabbit,
		},
		{
			Name: "amqp-refused-is-sent", Breaks: []string{"O2"},
			Change:  "a message that the broker has refused counts as delivered",
			File:    rabbit + "/publish.go",
			Old:     `	if !f.confirm.Acked() {`,
			New:     `	if f.confirm == nil {`,
			Package: rabbit, Test: "TestSink_Conformance/classic/O5_RefusalStopsItsKey", Needs: Rabbit,
		},
		{
			Name: "redis-unconfirmed-is-sent", Breaks: []string{"O2"},
			Change:  "a page that no replica has counts as delivered",
			File:    streams + "/transaction.go",
			Old:     `	if unconfirmed != nil {`,
			New:     `	if unconfirmed != nil && t == nil {`,
			Package: streams, Test: "TestO2_Replicas", Needs: Redis,
		},
		{
			Name: "redis-that-loses-is-taken", Breaks: []string{"O2"},
			Change:  "a server that writes nothing to disk is sent to",
			File:    streams + "/inspect.go",
			Old:     `	case f["aof_enabled"] == "0":`,
			New:     `	case f["aof_enabled"] == "never":`,
			Package: streams, Test: "TestO2_ServerThatLoses", Needs: Redis,
		},
		{
			Name: "redis-that-denies-transactions-is-taken", Breaks: []string{"O2"},
			Change:  "nobody tries what surrounds the records of a call",
			File:    streams + "/inspect.go",
			Old:     `	return l.try(ctx)`,
			New:     `	return nil`,
			Package: streams, Test: "TestO2_DeniedCommands", Needs: Redis,
		},
		{
			Name: "redis-goes-on-after-an-unknown-fate", Breaks: []string{"O5"},
			Change:  "a connection on which a page may still be under way is used again",
			File:    streams + "/send.go",
			Old:     `			l.cut() // before Send returns: what is in flight must not arrive later`,
			New:     `			_ = l // what is under way may come later`,
			Package: streams, Test: "TestO2_FailurePointOfSending", Needs: Redis,
		},
		{
			Name: "redis-outage-is-of-a-topic", Breaks: []string{"O8"},
			Change:  "the error of a server that is unavailable does not name it",
			File:    streams + "/link.go",
			Old:     `	return nil, s.out(err)`,
			New:     `	return nil, err`,
			Package: streams, Test: "TestO8_OutageNamesTheServer", Needs: Redis,
		},
		{
			Name: "status-blames-topics-for-their-broker", Breaks: []string{"O8"},
			Change:  "a destination that is unavailable is told by the topics whose records have met it",
			File:    "cmd/leat/internal/cli/command/outages.go",
			Old:     `return driver.Outage{Error: l.First.Error}.Whole()`,
			New:     `return driver.Outage{Error: l.group}.Whole()`,
			Package: "cmd/leat/internal/cli/command", Test: "TestOutageLines",
		},
		{
			Name: "amqp-declares-once", Breaks: []string{"O8"},
			Change:  "what was deleted on the broker is not declared again",
			File:    rabbit + "/publish.go",
			Old:     `			delete(l.declared, c.records[f.place].Topic)`,
			New:     `			delete(l.known, c.records[f.place].Topic)`,
			Package: rabbit, Test: "TestDeclare", Needs: Rabbit,
		},
	}
}
