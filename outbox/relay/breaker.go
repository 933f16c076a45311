package relay

import (
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// breakers are the breakers of a term, one for each topic with failures. The sender's
// goroutine owns them.
//
// A breaker opens if a call acknowledged nothing of the topic and the sink calls that an outage,
// or if SuspectKeys different keys have failed in a row for reasons that the sink does not know.
// The topic is out then: after a wait, which doubles, one of its records is sent as a probe, and
// nothing else. An outage is not an attempt of any record (invariant O8). See design 4.3.
type breakers struct {
	relay     *Relay
	shown     *atomic.Pointer[[]BreakerState] // the open ones, for State
	byTopic   map[string]*breaker
	openCount int
	lastAck   time.Time
	changed   []*breaker             // not reported to the hooks yet
	told      []error                // the errors of the breakers that the last call of learn has opened, or kept open
	held      func(topic string) int // the records of the topic that are set aside to be tried again
	seen      seenTopics
	keeper    driver.OutageKeeper // stores the outages; nil to store none
	kept      map[string]string   // the cause of each topic that is stored as out, with its error

	unavailable unavailableTopics
}

// breaker is the circuit breaker of one topic.
type breaker struct {
	topic     string
	open      bool
	suspect   bool // opened by failures of an unknown kind
	refused   bool // the destination answers, but does not take the topic
	shared    bool // it shares the probe of unavailableTopics
	since     time.Time
	lasted    time.Duration // how long it was open
	nextProbe time.Time
	err       error
	wait      jitter.Backoff
	failed    []keyIdentity // the different keys that have failed since the last success
}

// keyIdentity distinguishes failures of different keys, and of different records without a key.
type keyIdentity struct {
	key string
	seq int64 // of a record without a key
}

func identityOf(r *outbox.Record) keyIdentity {
	if r.Key == "" {
		return keyIdentity{seq: r.Seq}
	}
	return keyIdentity{key: r.Key}
}

// newBreakers returns the breakers of a term of r. They publish the open ones to shown.
func newBreakers(r *Relay, shown *atomic.Pointer[[]BreakerState]) *breakers {
	bs := &breakers{relay: r, shown: shown, byTopic: make(map[string]*breaker), seen: newSeenTopics()}
	bs.unavailable.checker, _ = r.sink.(driver.TopicChecker)
	bs.unavailable.topics = make(map[string]*breaker)
	bs.unavailable.wait = r.cfg.backoff()
	return bs
}

// at returns the breaker of topic, a new one if there was none.
func (bs *breakers) at(topic string) *breaker {
	b := bs.byTopic[topic]
	if b == nil {
		b = &breaker{topic: topic, wait: bs.relay.cfg.backoff()}
		bs.byTopic[topic] = b
	}
	return b
}

// out returns the breaker of topic if it is open, else nil.
func (bs *breakers) out(topic string) *breaker {
	if bs.openCount == 0 {
		return nil
	}
	if b := bs.byTopic[topic]; b != nil && b.open {
		return b
	}
	return nil
}

// mayProbe reports whether a record may be sent as a probe of b, which is open.
func (bs *breakers) mayProbe(b *breaker, now time.Time) bool {
	return !b.shared && !now.Before(b.nextProbe)
}

// probeAt returns the time of the next probe of b, which is open.
func (bs *breakers) probeAt(b *breaker) time.Time {
	if b.shared {
		return bs.unavailable.nextProbe
	}
	return b.nextProbe
}

// waiting returns the topics that are out and must not be probed yet.
func (bs *breakers) waiting(now time.Time) []string {
	if bs.openCount == 0 {
		return nil
	}
	var topics []string
	for topic, b := range bs.byTopic {
		if b.open && !bs.mayProbe(b, now) {
			topics = append(topics, topic)
		}
	}
	return topics
}

// outAmong returns the topics of records that are out.
func (bs *breakers) outAmong(records []outbox.Record) map[string]bool {
	topics := make(map[string]bool)
	for i := range records {
		if bs.out(records[i].Topic) != nil {
			topics[records[i].Topic] = true
		}
	}
	return topics
}

// ackedRecently reports whether the sink has acknowledged a record within BackoffMax
// before now.
func (bs *breakers) ackedRecently(now time.Time) bool {
	return !bs.lastAck.IsZero() && now.Sub(bs.lastAck) <= bs.relay.cfg.BackoffMax
}
