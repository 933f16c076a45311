package relay

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
)

// topicResult is the result of one call of the sink for one topic.
type topicResult struct {
	topic          string
	acked, outages int
	refused        bool
	failed         []keyIdentity
	err            error
}

// add counts the result of one record. It notes at most maxKeys keys that have failed.
func (t *topicResult) add(r *outbox.Record, err error, maxKeys int) {
	if err == nil {
		t.acked++
		return
	}
	switch outbox.KindOf(err) {
	case outbox.FailureOutage:
		t.outages++
		t.err = err
		t.refused = t.refused || errors.Is(err, outbox.ErrTopicUnavailable)
	case outbox.FailureUnknown:
		if id := identityOf(r); len(t.failed) < maxKeys && !slices.Contains(t.failed, id) {
			t.failed = append(t.failed, id)
		}
		if t.err == nil {
			t.err = err
		}
	default:
	}
}

// resultsByTopic adds up the results of one call for each topic.
func resultsByTopic(records []outbox.Record, results []outbox.Result, maxKeys int) []*topicResult {
	byTopic := make(map[string]*topicResult)
	var all []*topicResult
	for i := range records {
		t := byTopic[records[i].Topic]
		if t == nil {
			t = &topicResult{topic: records[i].Topic}
			byTopic[t.topic] = t
			all = append(all, t)
		}
		t.add(&records[i], results[i].Err, maxKeys)
	}
	return all
}

// learn opens and closes breakers by the results of one call of the sink. took is how long
// the call took.
func (bs *breakers) learn(ctx context.Context, records []outbox.Record, results []outbox.Result, took time.Duration) {
	now := time.Now()
	topics := resultsByTopic(records, results, bs.relay.cfg.SuspectKeys)
	for _, t := range topics {
		if t.acked > 0 {
			bs.lastAck = now
			bs.succeed(t.topic, now)
		}
	}
	for _, t := range topics {
		if t.acked == 0 {
			bs.fail(bs.at(t.topic), t, now, took)
		}
	}
	bs.told = bs.told[:0]
	if len(bs.changed) > 0 {
		bs.show(ctx)
		bs.changed = nil
	}
}

// succeed closes the breaker of topic, since a record of it was acknowledged. It forgets the
// topic's failures, so that memory does not grow with all topics ever seen.
func (bs *breakers) succeed(topic string, now time.Time) {
	bs.seen.noteAcked(topic)
	b := bs.byTopic[topic]
	if b == nil {
		return
	}
	delete(bs.byTopic, topic)
	bs.unavailable.remove(b)
	if !b.open {
		return
	}
	b.open, b.suspect, b.refused, b.err = false, false, false, nil
	b.since, b.lasted = now, now.Sub(b.since)
	bs.openCount--
	bs.changed = append(bs.changed, b)
}

// fail handles a call that acknowledged nothing of b's topic, and opens b if needed.
func (bs *breakers) fail(b *breaker, t *topicResult, now time.Time, took time.Duration) {
	suspectKeys := bs.relay.cfg.SuspectKeys
	for _, id := range t.failed {
		if len(b.failed) < suspectKeys && !slices.Contains(b.failed, id) {
			b.failed = append(b.failed, id)
		}
	}
	suspect := t.outages == 0
	switch {
	case t.outages == 0 && len(t.failed) == 0:
		// The records were refused because of their content, or not sent. Any producer may use a
		// new topic for each.
		if !b.open && len(b.failed) == 0 {
			delete(bs.byTopic, b.topic)
		}
		return
	case !b.open && suspect && len(b.failed) < suspectKeys:
		return
	}
	wait := b.wait.Next()
	if bs.ackedRecently(now.Add(-took)) && !errors.Is(t.err, ErrPaused) {
		// Others were acknowledged shortly before the call began. They would wait for each
		// hanging probe.
		wait = max(wait, 4*took)
	}
	b.nextProbe, b.err, b.suspect, b.refused = bs.alignProbe(now.Add(wait)), t.err, suspect, t.refused
	if b.refused {
		bs.unavailable.add(b)
	} else {
		bs.unavailable.remove(b)
	}
	if !b.open {
		b.open, b.since = true, now
		bs.openCount++
		bs.seen.noteOut(b.topic)
	}
	bs.changed = append(bs.changed, b)
}

// manyOpen is the number of open breakers from which on their probes are sent together, eight
// times per BackoffMax: if held records were read once for each probe, there would be no time
// left for anything else.
const manyOpen = 64

// alignProbe moves the time of a probe to that of other probes if many breakers are open.
func (bs *breakers) alignProbe(at time.Time) time.Time {
	step := bs.relay.cfg.BackoffMax / 8
	if bs.openCount < manyOpen || step <= 0 {
		return at
	}
	return at.Truncate(step).Add(step)
}
