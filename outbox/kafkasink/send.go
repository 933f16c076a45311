package kafkasink

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// Send implements driver.Sink. It returns when the brokers have answered for every record, or
// shortly after ctx has ended; with a context that never ends it may wait for ever, since the
// client never gives up by itself. On any failure that Kafka reports the client is closed before
// Send returns.
//
// Before anything is produced, records of a topic that cannot exist and records that are too
// large for their topic fail as outbox.FailurePermanent, and records of a topic that the cluster
// does not know as outbox.FailureOutage. Each holds back only the later records of its key. When
// the brokers reject a batch, the records of that partition fail as outbox.FailureUnknown, and
// the next call sends them one by one, to find the one at fault.
//
// It is safe for concurrent use; calls wait for each other.
func (s *Sink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	c := &call{records: records, results: make([]outbox.Result, len(records))}
	if len(records) == 0 {
		return c.results
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		for i := range records {
			c.fail(i, outbox.FailureOutage, err)
		}
		return c.results
	}
	defer s.page.release()

	s.topics.prune()
	s.learn(ctx, s.unknown(records))
	careful := s.build(ctx, c)
	if s.deliver(ctx, c, s.page.records, s.page.index) {
		s.oneByOne(ctx, c, careful)
		return c.results
	}
	for _, i := range careful {
		c.skip(i)
	}
	return c.results
}

// ready ensures that there is a client.
func (s *Sink) ready(ctx context.Context) error {
	if s.closed {
		return errClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.open()
}

// unknown returns the topics of records that the cluster must be asked about.
func (s *Sink) unknown(records []outbox.Record) []string {
	var ask []string
	seen, last := map[string]struct{}(nil), ""
	for i := range records {
		name := records[i].Topic
		if name == last {
			continue
		}
		last = name
		if s.topics.get(name).known || !legal(name) {
			continue
		}
		if _, again := seen[name]; again {
			continue
		}
		if seen == nil {
			seen = make(map[string]struct{})
		}
		seen[name] = struct{}{}
		ask = append(ask, name)
	}
	return ask
}

// build fills the page with the records that can be sent together, settles those
// that cannot be sent at all, and returns those to be sent one by one.
func (s *Sink) build(ctx context.Context, c *call) (careful []int) {
	s.partitioner.next()
	s.page.reset(len(c.records))
	var t *topic
	last := ""
	for i := range c.records {
		r := &c.records[i]
		if t == nil || r.Topic != last {
			t, last = s.topics.get(r.Topic), r.Topic
			if !legal(r.Topic) {
				t.fail(outbox.FailurePermanent, errTopicName)
			}
		}
		switch {
		case t.err != nil:
			c.fail(i, t.kind, t.err)
		case c.isHeld(i):
			c.skip(i)
		case !s.fit(ctx, t, s.page.add(i, r)):
			size := batchSize(&s.page.records[len(s.page.records)-1])
			s.page.undo()
			c.fail(i, outbox.FailurePermanent, fmt.Errorf(
				"%w: a batch with record %s alone has %d bytes, topic %q takes %d", errTooLarge, r.ID, size, r.Topic, t.limit))
		case t.careful > 0:
			s.page.undo()
			t.careful--
			careful = append(careful, i)
		}
	}
	return careful
}

// fit reports whether the topic takes r. Before it returns false it asks the cluster, once per
// call, whether the topic takes more by now.
func (s *Sink) fit(ctx context.Context, t *topic, r *kgo.Record) bool {
	if fits(r, t.limit) {
		return true
	}
	if round := s.partitioner.round.Load(); t.asked != round && s.open() == nil {
		t.asked = round
		if s.readLimits(ctx, []string{r.Topic}) {
			// The client has already asked for its bound, and asks only once. It holds nothing
			// yet.
			s.end()
			s.client = nil
		}
	}
	return fits(r, t.limit)
}

// oneByOne delivers the records at places, each in its own batch.
func (s *Sink) oneByOne(ctx context.Context, c *call, places []int) {
	for n, i := range places {
		if c.isHeld(i) {
			c.skip(i)
			continue
		}
		s.page.reset(1)
		s.page.add(i, &c.records[i])
		if s.deliver(ctx, c, s.page.records, s.page.index) {
			continue
		}
		if outbox.KindOf(c.results[i].Err) == outbox.FailurePermanent {
			s.topics.get(c.records[i].Topic).careful = 0
			continue
		}
		for _, rest := range places[n+1:] {
			c.skip(rest)
		}
		return
	}
}

// deliver produces records, whose places in the call index holds, waits for the
// answers and settles the failed ones. It reports whether all were acknowledged.
func (s *Sink) deliver(ctx context.Context, c *call, records []kgo.Record, index []int32) bool {
	if len(records) == 0 {
		return true
	}
	err := ctx.Err()
	if err == nil {
		err = s.open()
	}
	if err != nil {
		for _, i := range index {
			c.fail(int(i), outbox.FailureOutage, err)
		}
		return false
	}
	failures := s.produce(ctx, records)
	if len(failures) == 0 {
		return true
	}
	s.settle(ctx, c, records, index, failures)
	return false
}
