package amqpsink

import (
	"context"
	"log/slog"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// call is one Send.
type call struct {
	s       *Sink
	records []outbox.Record
	results []outbox.Result
	done    []bool  // settled, by a result
	behind  []int32 // the next record of the same key, or 0
	ready   []int32 // what can be published: none of its key is in flight or before it
	flying  []flight
	unbound map[route]int // returned by the broker, not confirmed yet
	missing map[string]error
	blamed  bool // the broker has closed the channel because of a record, which has failed for it
}

// flight is a record in flight.
type flight struct {
	place   int32
	route   route
	confirm *amqp.DeferredConfirmation
}

// route is how a returned message is recognised.
type route struct {
	exchange, key, id string
}

// Send implements driver.Sink. It returns when the broker has answered for every record, or soon after
// ctx has ended: then the connection is closed.
//
// Records that cannot be sent as they are fail as outbox.FailurePermanent. Those of a topic that
// the broker does not have fail before they are published, as outbox.FailureOutage with
// outbox.ErrTopicUnavailable. What is nacked fails as outbox.FailureUnknown. Each failure holds
// back the later records of its key. If the connection is lost, the records in flight fail as an
// outage and the rest is not sent. The same happens if the broker closes the channel because of a
// record that the sink cannot identify; then the next call has one record in flight at a time,
// and that record fails as outbox.FailureUnknown.
//
// It is safe for concurrent use. Calls take turns, for there is one connection, and the time that
// a call waits for its turn counts towards its ctx.
func (s *Sink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	c := &call{s: s, records: records, results: make([]outbox.Result, len(records))}
	if len(records) == 0 {
		return c.results
	}
	if err := s.take(ctx); err != nil {
		return c.end(err)
	}
	defer s.free()
	l, err := s.connect(ctx)
	if err != nil {
		return c.end(err)
	}
	free := s.guard(ctx, l)
	defer free()
	c.queue()
	if err := c.deliver(ctx, l); err != nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "RabbitMQ delivery failed, the connection is replaced", slog.Any("error", err))
		// Before Send returns: what is in flight should not arrive later, and a later call should
		// not find a connection that has not yet noticed that it is closed.
		s.drop()
		return c.end(err)
	}
	s.careful = false
	return c.results
}

// queue finds the order in which records can be published.
func (c *call) queue() {
	n := len(c.records)
	c.done, c.behind, c.unbound = make([]bool, n), make([]int32, n), make(map[route]int)
	c.missing = make(map[string]error) // exchanges that are not there: it asks once for each
	last := make(map[driver.Key]int32, n)
	for i := range c.records {
		r, place := &c.records[i], int32(i)
		key := driver.Key{Topic: r.Topic, Key: r.Key}
		before, again := last[key]
		if again && r.Key != "" {
			c.behind[before] = place
		} else {
			c.ready = append(c.ready, place)
		}
		last[key] = place
	}
}

// settle stores the result of a record. If it failed, the later records of its key are not sent;
// otherwise the next one becomes ready.
func (c *call) settle(place int32, result outbox.Result) {
	c.results[place], c.done[place] = result, true
	next := c.behind[place]
	if result.Err == nil {
		if next != 0 {
			c.ready = append(c.ready, next)
		}
		return
	}
	for ; next != 0; next = c.behind[next] {
		c.results[next], c.done[next] = outbox.NotSent(), true
	}
}

// end fails the records in flight as an outage for the reason err, or the first record that is
// not settled if none is in flight. All others were not sent.
func (c *call) end(err error) []outbox.Result {
	outage := outbox.Failed(outbox.FailureOutage, err)
	if c.done == nil {
		c.done = make([]bool, len(c.records))
	}
	for _, f := range c.flying {
		c.results[f.place], c.done[f.place] = outage, true
	}
	for i := range c.results {
		switch {
		case c.done[i]:
		case len(c.flying) == 0 && !c.blamed:
			c.results[i], c.flying = outage, []flight{{place: int32(i)}}
		default:
			c.results[i] = outbox.NotSent()
		}
	}
	return c.results
}
