package sinktest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// broken says which rules a sink breaks.
type broken struct {
	pipelines, answersEarly, goesOn, staysConnected, forgetsLine, ignoresContext, ignoresEnd, outlivesClose bool
	keepsMemory, changesRecords, dropsHeaders, dropsTime, sendsTwice, losesSome, tooFewResults              bool
	outageIsPermanent, outageIsUnknown, missingIsPermanent, missingIsAnyOutage, refusalIsOutage             bool
	tooLargeIsUnknown, saysNotSent, failsTheRest, reversesKeys, mixesTopics, stopsAtRefusal                 bool
	textBodies, trimsKeys, cutsIDs, lowersHeaders, impatient, oneCaller, answersNobody, emptyIsAKey         bool
	dropsKnownIDs, dropsReplays                                                                             bool
}

// fifo is a sink with one record under way at a time.
type fifo struct {
	to     *memory
	broken broken

	lock   chan struct{} // a channel, so that virtual time passes while it is waited for
	calls  atomic.Int32  // that are under way
	closed bool
	line   *line
}

func newFifo(to *memory, b broken) *fifo {
	return &fifo{to: to, broken: b, lock: make(chan struct{}, 1)}
}

var errClosed = errors.New("closed")

func (s *fifo) Close() error {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	if s.closed = true; s.line != nil {
		s.line.close()
	}
	return nil
}

// sending is one call of Send.
type sending struct {
	s       *fifo
	ctx     context.Context //nolint:containedctx // of one call
	records []outbox.Record
	results []outbox.Result
	failed  map[driver.Key]bool
	over    bool
}

func (s *fifo) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	if s.broken.answersNobody && len(records) == 0 {
		return make([]outbox.Result, 1)
	}
	if s.broken.oneCaller {
		defer s.calls.Add(-1)
		if s.calls.Add(1) > 1 {
			results := slices.Repeat([]outbox.Result{outbox.NotSent()}, len(records))
			results[0] = outbox.Failed(outbox.FailureOutage, errClosed)
			return results
		}
		<-time.After(time.Millisecond) // the others come
	}
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	c := &sending{s: s, ctx: ctx, records: records, results: make([]outbox.Result, len(records)), failed: make(map[driver.Key]bool)}
	if s.broken.ignoresContext {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 25*time.Second)
		defer cancel()
		c.ctx = late
	}
	c.all()
	if s.broken.tooFewResults && len(c.results) > 1 {
		return c.results[1:]
	}
	return c.results
}

func (c *sending) all() {
	answers := make([]<-chan error, len(c.records))
	if c.s.broken.pipelines {
		for i := range c.records {
			answers[i] = c.publish(i)
		}
	}
	for n := range c.records {
		i := n
		if c.s.broken.reversesKeys {
			i = len(c.records) - 1 - n
		}
		key := driver.Key{Topic: c.records[i].Topic, Key: c.records[i].Key}
		switch {
		case !c.s.broken.goesOn && (c.over || c.failed[key] && (key.Key != "" || c.s.broken.emptyIsAKey)):
			c.results[i] = outbox.NotSent()
			if c.s.broken.failsTheRest {
				c.results[i] = outbox.Failed(outbox.FailureUnknown, errRefused)
			}
			continue
		case answers[i] == nil:
			answers[i] = c.publish(i)
		}
		if c.results[i] = c.wait(answers[i]); c.results[i].Err != nil {
			c.failed[key] = true
			c.over = c.over || outbox.KindOf(c.results[i].Err) == outbox.FailureOutage && !errors.Is(c.results[i].Err, errNoTopic)
			c.over = c.over || c.s.broken.stopsAtRefusal
			if c.s.broken.saysNotSent {
				c.results[i] = outbox.NotSent()
			}
		}
	}
}

// change makes less of a record than it was.
func (b broken) change(r *outbox.Record) {
	switch {
	case b.textBodies:
		r.Payload = bytes.ToValidUTF8(r.Payload, nil)
	case b.trimsKeys:
		r.Key = strings.TrimSpace(r.Key)
	case b.cutsIDs:
		r.ID = r.ID[:min(len(r.ID), 255)]
	case b.lowersHeaders:
		headers := make(map[string]string)
		for name, value := range r.Headers {
			headers[strings.ToLower(name)] = value
		}
		r.Headers = headers
	}
}

// publish begins to send record i.
func (c *sending) publish(i int) <-chan error {
	r, b := &c.records[i], c.s.broken
	fail := func(err error) <-chan error {
		answer := make(chan error, 1)
		answer <- err
		return answer
	}
	if err := c.ctx.Err(); err != nil && !b.ignoresEnd {
		return fail(err)
	}
	if c.s.closed && !b.outlivesClose {
		return fail(errClosed)
	}
	if c.s.line == nil || c.s.closed {
		l, err := c.s.to.dial()
		if err != nil {
			return fail(err)
		}
		c.s.line = l
	}
	out := *r
	switch {
	case b.changesRecords && r.Headers != nil:
		r.Headers["event-id"] = r.ID
	case b.dropsHeaders:
		out.Headers = nil
	case b.dropsTime:
		out.OccurredAt = out.OccurredAt.Truncate(1e9)
	case b.mixesTopics:
		out.Topic = "a"
	case b.losesSome && r.Seq%50 == 7,
		b.dropsKnownIDs && c.s.to.repeated(r.ID),
		b.dropsReplays && c.s.to.repeated(fmt.Sprint(r.Topic, r.Seq)):
		return fail(nil)
	default:
		b.change(&out)
	}
	answer := c.s.line.publish(&out)
	if b.sendsTwice {
		answer = c.s.line.publish(&out)
	}
	if b.answersEarly {
		return fail(nil)
	}
	return answer
}

// wait waits for an answer.
func (c *sending) wait(answer <-chan error) outbox.Result {
	var err error
	select {
	case err = <-answer:
	default:
		var soon <-chan time.Time
		if c.s.broken.impatient {
			soon = time.After(time.Millisecond)
		}
		select {
		case err = <-answer:
		case <-soon:
			err = context.DeadlineExceeded
		case <-c.ctx.Done():
			err = c.ctx.Err()
		}
	}
	if err == nil {
		return outbox.Result{}
	}
	kind, b := c.kind(err), c.s.broken
	if kind == outbox.FailureOutage && !errors.Is(err, errNoTopic) && !b.staysConnected && c.s.line != nil {
		if !b.forgetsLine {
			c.s.line.close()
		}
		c.s.line = nil
	}
	if errors.Is(err, errNoTopic) && !b.missingIsAnyOutage {
		err = fmt.Errorf("%w: %w", outbox.ErrTopicUnavailable, err)
	}
	return outbox.Failed(kind, err)
}

func (c *sending) kind(err error) outbox.FailureKind {
	b := c.s.broken
	switch {
	case errors.Is(err, errRefused) && b.refusalIsOutage, errors.Is(err, errNoTopic) && !b.missingIsPermanent:
		return outbox.FailureOutage
	case errors.Is(err, errRefused), errors.Is(err, errTooLarge) && b.tooLargeIsUnknown, b.outageIsUnknown:
		return outbox.FailureUnknown
	case errors.Is(err, errTooLarge), errors.Is(err, errNoTopic), b.outageIsPermanent:
		return outbox.FailurePermanent
	default:
		return outbox.FailureOutage
	}
}
