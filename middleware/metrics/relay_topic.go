package metrics

import (
	"sync"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// The outcomes of a record that was sent: delivered, or the kind of its failure.
const (
	delivered    = int(outbox.FailureNotSent) + 1 // the failures come first, with their own numbers
	sentOutcomes = delivered + 1
	fates        = int(driver.FateDelivered) + 1
)

// relayTopic are the series of one topic.
type relayTopic struct {
	sent    [sentOutcomes]Counter
	fates   [fates]Counter
	bytes   Counter
	latency Histogram
}

func (r *Relay) topic(topic string) *relayTopic {
	t := &relayTopic{
		bytes:   r.m.counter(relaySentBytes, r.outbox, r.group, topic),
		latency: r.m.histogram(relayDispatchLatency, r.outbox, r.group, topic),
	}
	for i := range t.sent {
		outcome := outbox.FailureKind(i).String()
		if i == delivered {
			outcome = "delivered"
		}
		t.sent[i] = r.m.counter(relaySent, r.outbox, r.group, topic, outcome)
	}
	for i := range t.fates {
		t.fates[i] = r.m.counter(relayHeld, r.outbox, r.group, topic, driver.Fate(i).String())
	}
	return t
}

// tally adds up a page, so that series are touched once for records of one topic that
// follow each other, and not for each record.
type tally struct {
	relay *Relay
	now   time.Time

	name  string
	topic *relayTopic
	sent  [sentOutcomes]int
	bytes int
	// ages are the ages of the delivered records, in seconds.
	ages []float64
}

// tallies keeps tallies for the next page.
type tallies struct{ pool sync.Pool }

func (p *tallies) take(r *Relay) *tally {
	t, ok := p.pool.Get().(*tally)
	if !ok {
		t = &tally{relay: r}
	}
	t.now = time.Now()
	return t
}

func (p *tallies) done(t *tally) {
	t.flush()
	t.name, t.topic = "", nil
	if cap(t.ages) <= 10_000 {
		p.pool.Put(t)
	}
}

func (t *tally) add(r *outbox.Record, err error) {
	if t.topic == nil || r.Topic != t.name {
		t.flush()
		t.name, t.topic = r.Topic, t.relay.topics.of(r.Topic)
	}
	if err != nil {
		kind := outbox.KindOf(err)
		if kind < outbox.FailureUnknown || kind > outbox.FailureNotSent {
			kind = outbox.FailureUnknown
		}
		t.sent[kind]++
		return
	}
	t.sent[delivered]++
	t.bytes += len(r.Payload)
	t.ages = append(t.ages, float64(max(0, t.now.Sub(r.CreatedAt)))/float64(time.Second))
}

func (t *tally) flush() {
	if t.topic == nil {
		return
	}
	for i, n := range t.sent {
		if n > 0 {
			t.topic.sent[i].Add(float64(n))
		}
	}
	if t.bytes > 0 {
		t.topic.bytes.Add(float64(t.bytes))
	}
	if len(t.ages) > 0 {
		t.topic.latency.ObserveAll(t.ages)
	}
	t.sent, t.bytes, t.ages = [sentOutcomes]int{}, 0, t.ages[:0]
}
