package relay

import (
	"errors"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// destinations are the topics of which a term knows something, each with a
// breaker. The sender's goroutine owns them.
//
// A breaker opens when a call acknowledged nothing of the topic and the sink
// calls that an outage, or when SuspectKeys different keys have failed one after
// the other for reasons it does not know. While it is open nothing of the topic is
// sent but, after a wait that doubles, one record. An outage is no attempt of any
// record (invariant O8).
type destinations struct {
	cfg     *Config
	byTopic map[string]*destination
	open    int // breakers that are open
	lastAck time.Time
	dirty   []*destination // breakers that have changed and were not told of
	changed func(all []*destination)
	known   known

	unavailable unavailable
}

// destination is one topic.
type destination struct {
	topic   string
	open    bool
	suspect bool // opened by failures that the sink calls unknown
	refused bool // the destination answers, and does not take the topic
	shared  bool // it is one of unavailable
	since   time.Time
	next    time.Time // of the next probe
	err     error
	wait    jitter.Backoff
	failed  []identity // different keys that have failed, nothing having succeeded since
}

// identity tells failures of different keys, or of different records without
// one, apart.
type identity struct {
	key string
	seq int64 // of a record without a key
}

func identityOf(r *outbox.Record) identity {
	if r.Key == "" {
		return identity{seq: r.Seq}
	}
	return identity{key: r.Key}
}

// newDestinations returns the destinations of sink. changed is told of breakers that
// have changed, once a call of learn.
func newDestinations(cfg *Config, sink driver.Sink, changed func(all []*destination)) *destinations {
	ds := &destinations{cfg: cfg, byTopic: make(map[string]*destination), changed: changed, known: newKnown()}
	ds.unavailable.checker, _ = sink.(driver.TopicChecker)
	ds.unavailable.topics = make(map[string]*destination)
	ds.unavailable.wait = jitter.Backoff{Min: cfg.BackoffMin, Max: cfg.BackoffMax}
	return ds
}

// at returns the destination, which is new where nothing was known of it.
func (ds *destinations) at(topic string) *destination {
	d := ds.byTopic[topic]
	if d == nil {
		d = &destination{topic: topic, wait: jitter.Backoff{Min: ds.cfg.BackoffMin, Max: ds.cfg.BackoffMax}}
		ds.byTopic[topic] = d
	}
	return d
}

// out returns the destination of topic if its breaker is open, else nil.
func (ds *destinations) out(topic string) *destination {
	if ds.open == 0 {
		return nil
	}
	if d := ds.byTopic[topic]; d != nil && d.open {
		return d
	}
	return nil
}

// ready reports whether a record of d, which is out, may be tried.
func (ds *destinations) ready(d *destination, now time.Time) bool {
	return !d.shared && !now.Before(d.next)
}

// probeAt returns when d, which is out, is looked at next.
func (ds *destinations) probeAt(d *destination) time.Time {
	if d.shared {
		return ds.unavailable.next
	}
	return d.next
}

// tally is what one call says of a topic.
type tally struct {
	topic          string
	acked, outages int
	refused        bool
	failed         []identity
	err            error
}

// learn takes in the answer of the sink to one call, which took so long.
func (ds *destinations) learn(records []outbox.Record, results []outbox.Result, took time.Duration) {
	now := time.Now()
	byTopic := make(map[string]*tally)
	var tallies []*tally
	for i := range records {
		y := byTopic[records[i].Topic]
		if y == nil {
			y = &tally{topic: records[i].Topic}
			byTopic[y.topic] = y
			tallies = append(tallies, y)
		}
		y.add(&records[i], results[i].Err, ds.cfg.SuspectKeys)
	}
	for _, y := range tallies {
		if y.acked > 0 {
			ds.lastAck = now
			ds.succeed(y.topic, now)
		}
	}
	for _, y := range tallies {
		if y.acked == 0 {
			ds.fail(ds.at(y.topic), y, now, took)
		}
	}
	if len(ds.dirty) > 0 {
		ds.changed(ds.dirty)
		ds.dirty = nil
	}
}

func (y *tally) add(r *outbox.Record, err error, most int) {
	if err == nil {
		y.acked++
		return
	}
	switch outbox.KindOf(err) {
	case outbox.FailureOutage:
		y.outages++
		y.err = err
		y.refused = y.refused || errors.Is(err, outbox.ErrTopicUnavailable)
	case outbox.FailureUnknown:
		if id := identityOf(r); len(y.failed) < most && !slices.Contains(y.failed, id) {
			y.failed = append(y.failed, id)
		}
		if y.err == nil {
			y.err = err
		}
	default:
	}
}

// succeed notes that something of topic was acknowledged. What was known of its
// failures is forgotten, so that what is kept does not grow with the topics of years.
func (ds *destinations) succeed(topic string, now time.Time) {
	ds.known.acked(topic)
	d := ds.byTopic[topic]
	if d == nil {
		return
	}
	delete(ds.byTopic, topic)
	ds.unavailable.remove(d)
	if !d.open {
		return
	}
	d.open, d.suspect, d.refused, d.err = false, false, false, nil
	d.since = now
	ds.open--
	ds.dirty = append(ds.dirty, d)
}

// fail notes that nothing of d was acknowledged by a call.
func (ds *destinations) fail(d *destination, y *tally, now time.Time, took time.Duration) {
	for _, id := range y.failed {
		if len(d.failed) < ds.cfg.SuspectKeys && !slices.Contains(d.failed, id) {
			d.failed = append(d.failed, id)
		}
	}
	suspect := y.outages == 0
	switch {
	case y.outages == 0 && len(y.failed) == 0:
		return // refused for what they are, or not sent
	case !d.open && suspect && len(d.failed) < ds.cfg.SuspectKeys:
		return
	}
	wait := d.wait.Next()
	if ds.recently(now.Add(-took)) {
		// Others were acknowledged when the call began, and would wait for each probe
		// that hangs.
		wait = max(wait, 4*took)
	}
	d.next, d.err, d.suspect, d.refused = ds.gather(now.Add(wait)), y.err, suspect, y.refused
	if d.refused {
		ds.unavailable.put(d)
	} else {
		ds.unavailable.remove(d)
	}
	if !d.open {
		d.open, d.since = true, now
		ds.open++
		ds.known.opened(d.topic)
	}
	ds.dirty = append(ds.dirty, d)
}

// manyOpen is the number of breakers that are open from which on their probes are sent
// together, eight times each BackoffMax: one look at what is held for each probe would
// leave time for nothing else.
const manyOpen = 64

// gather moves the time of a probe to that of others where breakers are many.
func (ds *destinations) gather(at time.Time) time.Time {
	step := ds.cfg.BackoffMax / 8
	if ds.open < manyOpen || step <= 0 {
		return at
	}
	return at.Truncate(step).Add(step)
}

// recently says whether something was acknowledged a short while ago.
func (ds *destinations) recently(now time.Time) bool {
	return !ds.lastAck.IsZero() && now.Sub(ds.lastAck) <= ds.cfg.BackoffMax
}

// waiting returns the topics that are out and not to be probed yet.
func (ds *destinations) waiting(now time.Time) []string {
	if ds.open == 0 {
		return nil
	}
	var topics []string
	for topic, d := range ds.byTopic {
		if d.open && !ds.ready(d, now) {
			topics = append(topics, topic)
		}
	}
	return topics
}
