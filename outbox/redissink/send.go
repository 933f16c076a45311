package redissink

import (
	"context"
	"log/slog"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// call is one Send.
type call struct {
	s       *Sink
	records []outbox.Record
	results []outbox.Result
	settled []bool
	topics  []*topicCall
}

// topicCall is a topic's part of a call.
type topicCall struct {
	stream string
	places []int // of the records that are sent, in their order
	failed map[string]bool
}

// Send implements driver.Sink. It returns when the server has answered, or soon after ctx has ended: then the
// connection is reset.
//
// The records of a topic are taken together or not at all. A topic that is not a stream, whose
// stream is missing with Config.ExistingOnly, or that may not be written to fails as
// outbox.FailureOutage with outbox.ErrTopicUnavailable; a record that is too large as
// outbox.FailurePermanent, and holds back the later ones of its key. Every other refusal of the
// server is an outage: memory full, a replica instead of a primary, data being loaded, too few
// replicas.
//
// It is safe for concurrent use; calls run concurrently.
func (s *Sink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	c := &call{s: s, records: records, results: make([]outbox.Result, len(records)), settled: make([]bool, len(records))}
	if len(records) == 0 {
		return c.results
	}
	l, err := s.take(ctx)
	if err != nil {
		return c.unsent(err)
	}
	whole := false
	defer func() {
		if !whole {
			l.cut() // before Send returns: what is in flight must not arrive later
		}
		s.give(l)
	}()
	c.sort(l.most)
	if err := c.deliver(ctx, l); err != nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "Redis delivery failed, the connection is replaced", slog.Any("error", err))
		return c.unknown(err)
	}
	whole = true
	return c.results
}

// sort groups the records by topic, without those that cannot be sent and the later ones of their
// keys.
func (c *call) sort(most int) {
	byTopic := make(map[string]*topicCall)
	for i := range c.records {
		r := &c.records[i]
		t := byTopic[r.Topic]
		if t == nil {
			t = &topicCall{stream: c.s.cfg.Prefix + r.Topic}
			byTopic[r.Topic] = t
			c.topics = append(c.topics, t)
		}
		if t.failed[r.Key] {
			c.settle(i, outbox.NotSent())
			continue
		}
		if err := checkSize(r, most); err != nil {
			c.settle(i, outbox.Failed(outbox.FailurePermanent, err))
			if r.Key != "" {
				t.fail(r.Key)
			}
			continue
		}
		t.places = append(t.places, i)
	}
}

func (t *topicCall) fail(key string) {
	if t.failed == nil {
		t.failed = make(map[string]bool)
	}
	t.failed[key] = true
}

func (c *call) settle(place int, result outbox.Result) {
	c.results[place], c.settled[place] = result, true
}

// unsent fails the first record as an outage for the reason err; none was sent.
func (c *call) unsent(err error) []outbox.Result {
	for i := range c.results {
		c.results[i] = outbox.NotSent()
	}
	c.results[0] = outbox.Failed(outbox.FailureOutage, err)
	return c.results
}

// unknown fails as an outage the records that are not settled: it is unknown whether the server
// has taken them.
func (c *call) unknown(err error) []outbox.Result {
	var left []int
	for i, settled := range c.settled {
		if !settled {
			left = append(left, i)
		}
	}
	c.fail(left, outbox.Failed(outbox.FailureOutage, err))
	return c.results
}

// fail sets the result for the first record of each key, and for all records without a key. Later records
// of a key count as not sent, so that they are sent again after the first.
func (c *call) fail(places []int, result outbox.Result) {
	first := make(map[driver.Key]int)
	for _, i := range places {
		key := driver.Key{Topic: c.records[i].Topic, Key: c.records[i].Key}
		if _, again := first[key]; !again || key.Key == "" {
			first[key] = i
			c.settle(i, result)
		}
	}
	for i := range c.records {
		key := driver.Key{Topic: c.records[i].Topic, Key: c.records[i].Key}
		if before, failed := first[key]; failed && before < i && key.Key != "" {
			c.settle(i, outbox.NotSent())
		}
	}
}
