package wmsink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// errUnanswered is the cause if Send has returned before the publisher has.
var errUnanswered = errors.New("leat: the publisher has not answered in time")

// call is one Send. Its lanes share it until it is over; after that they must not read its
// records, and their results are ignored.
type call struct {
	mu      sync.Mutex
	over    bool
	records []outbox.Record
	results []outbox.Result
}

func newCall(records []outbox.Record) *call {
	c := &call{records: records, results: make([]outbox.Result, len(records))}
	// A record without a result was not sent. It must not look delivered.
	notSent := outbox.NotSent()
	for i := range c.results {
		c.results[i] = notSent
	}
	return c
}

// order is what records are ordered by.
type order struct {
	topic, key string
}

// queue is the work of one lane in one call, and what the lane must no longer send.
type queue struct {
	places []int32
	held   map[order]struct{}
	out    map[string]struct{}
}

// stops reports whether r must wait for an earlier record.
func (q *queue) stops(r *outbox.Record) bool {
	if _, out := q.out[r.Topic]; out {
		return true
	}
	_, held := q.held[order{r.Topic, r.Key}]
	return held && r.Key != ""
}

// stop records what the failure of r stops.
func (q *queue) stop(r *outbox.Record, kind outbox.FailureKind) {
	if kind == outbox.FailureOutage {
		if q.out == nil {
			q.out = make(map[string]struct{})
		}
		q.out[r.Topic] = struct{}{}
		return
	}
	if q.held == nil {
		q.held = make(map[order]struct{})
	}
	q.held[order{r.Topic, r.Key}] = struct{}{}
}

// job is one message to publish.
type job struct {
	place int
	seq   int64
	topic string
	msg   *message.Message
}

// next takes the next record that may be sent from q. It reports false when there is none or the
// call is over. A record that was taken and is not settled has an unknown fate.
func (c *call) next(ctx context.Context, q *queue) (job, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(q.places) > 0 && !c.over {
		place := int(q.places[0])
		q.places = q.places[1:]
		r := &c.records[place]
		if q.stops(r) {
			continue
		}
		if err := ctx.Err(); err != nil {
			c.results[place] = outbox.Failed(outbox.FailureOutage, err)
			return job{}, false
		}
		c.results[place] = outbox.Result{Err: errUnanswered}
		msg := outbox.ToWatermill(r)
		// Publishers and their subscribers may keep a message for longer than the
		// records live.
		msg.Payload = bytes.Clone(r.Payload)
		msg.SetContext(ctx)
		return job{place: place, seq: r.Seq, topic: r.Topic, msg: msg}, true
	}
	return job{}, false
}

// settle stores the result of the record at place, which q has sent. It reports false if that is
// too late.
func (c *call) settle(q *queue, place int, result outbox.Result) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	c.results[place] = result
	if result.Err != nil {
		q.stop(&c.records[place], outbox.KindOf(result.Err))
	}
	return true
}

// end closes the call and returns its results. If some records were not sent, at least one result
// has the reason.
func (c *call) end(ctx context.Context) []outbox.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	waiting, why := -1, false
	for i := range c.results {
		switch err := c.results[i].Err; {
		case err == nil:
		case errors.Is(err, errUnanswered):
			c.results[i] = unanswered(ctx)
			why = true
		case errors.Is(err, outbox.ErrNotSent):
			if waiting < 0 {
				waiting = i
			}
		default:
			why = true
		}
	}
	if waiting >= 0 && !why {
		c.results[waiting] = unanswered(ctx)
	}
	return c.results
}

func unanswered(ctx context.Context) outbox.Result {
	if cause := context.Cause(ctx); cause != nil {
		return outbox.Failed(outbox.FailureOutage, fmt.Errorf("%w: %w", errUnanswered, cause))
	}
	return outbox.Failed(outbox.FailureOutage, errUnanswered)
}
