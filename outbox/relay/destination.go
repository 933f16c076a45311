package relay

import (
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
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
	changed func(d *destination)
	known   known
}

// destination is one topic.
type destination struct {
	topic   string
	open    bool
	suspect bool // opened by failures that the sink calls unknown
	since   time.Time
	next    time.Time // of the next probe
	err     error
	wait    backoff
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

func newDestinations(cfg *Config, changed func(d *destination)) *destinations {
	return &destinations{cfg: cfg, byTopic: make(map[string]*destination), changed: changed}
}

// at returns the destination, which is new where nothing was known of it.
func (ds *destinations) at(topic string) *destination {
	d := ds.byTopic[topic]
	if d == nil {
		d = &destination{topic: topic, wait: backoff{first: ds.cfg.BackoffMin, most: ds.cfg.BackoffMax}}
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

// ready says whether a probe may be sent.
func (d *destination) ready(now time.Time) bool {
	return !now.Before(d.next)
}

// tally is what one call says of a topic.
type tally struct {
	acked, outages int
	failed         []identity
	err            error
}

// learn takes in the answer of the sink to one call, which took so long.
func (ds *destinations) learn(records []outbox.Record, results []outbox.Result, took time.Duration) {
	now := time.Now()
	tallies := make(map[string]*tally)
	for i := range records {
		y := tallies[records[i].Topic]
		if y == nil {
			y = &tally{}
			tallies[records[i].Topic] = y
		}
		y.add(&records[i], results[i].Err, ds.cfg.SuspectKeys)
	}
	for topic, y := range tallies {
		if y.acked > 0 {
			ds.lastAck = now
			ds.succeed(ds.at(topic), now)
		}
	}
	for topic, y := range tallies {
		if y.acked == 0 {
			ds.fail(ds.at(topic), y, now, took)
		}
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

func (ds *destinations) succeed(d *destination, now time.Time) {
	d.failed = d.failed[:0]
	d.wait.reset()
	if !d.open {
		return
	}
	d.open, d.suspect, d.err = false, false, nil
	d.since = now
	ds.open--
	ds.changed(d)
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
	wait := d.wait.next()
	if ds.recently(now.Add(-took)) {
		// Others were acknowledged when the call began, and would wait for each probe
		// that hangs.
		wait = max(wait, 4*took)
	}
	d.next, d.err, d.suspect = now.Add(wait), y.err, suspect
	if !d.open {
		d.open, d.since = true, now
		ds.open++
		ds.known.add(d.topic)
	}
	ds.changed(d)
}

// recently says whether something was acknowledged a short while ago.
func (ds *destinations) recently(now time.Time) bool {
	return !ds.lastAck.IsZero() && now.Sub(ds.lastAck) <= ds.cfg.BackoffMax
}

// elsewhere says whether a topic is known that is not out.
func (ds *destinations) elsewhere() bool {
	return ds.open < ds.known.count()
}

// waiting returns the topics that are out and not to be probed yet.
func (ds *destinations) waiting(now time.Time) []string {
	if ds.open == 0 {
		return nil
	}
	var topics []string
	for topic, d := range ds.byTopic {
		if d.open && !d.ready(now) {
			topics = append(topics, topic)
		}
	}
	return topics
}
