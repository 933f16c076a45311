package natssink

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// errClosed is the reason why records have no answer if the connection has ended.
var errClosed = errors.New("the connection has ended before an answer")

// call sends the records of one Send.
type call struct {
	at      []string // the servers, named in errors
	records []outbox.Record
	results []outbox.Result
	most    int                 // the most records in flight
	failed  map[driver.Key]bool // failed keys and, with an empty Key, whole topics
}

// newCall returns a call that has sent nothing yet.
func (s *Sink) newCall(records []outbox.Record) *call {
	c := &call{at: s.hosts, records: records, results: make([]outbox.Result, len(records)), most: s.cfg.MaxUnacked, failed: make(map[driver.Key]bool)}
	notSent := outbox.NotSent()
	for i := range c.results {
		c.results[i] = notSent
	}
	return c
}

// underway is a record that has no answer yet.
type underway struct {
	place  int
	answer jetstream.PubAckFuture
}

// deliver sends in rounds: the first remaining record of each key. An error means that the
// connection must be replaced.
func (c *call) deliver(ctx context.Context, l *link) error {
	left := make([]int, len(c.records))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		var round []int
		round, left = c.round(left)
		sent, err := c.publish(ctx, l, round)
		if err := errors.Join(err, c.await(ctx, l, sent)); err != nil {
			return err
		}
	}
	return nil
}

// round divides the remaining places into those of the next round and the others.
func (c *call) round(left []int) (round, later []int) {
	taken := make(map[driver.Key]bool)
	for _, i := range left {
		key := driver.Key{Topic: c.records[i].Topic, Key: c.records[i].Key}
		switch {
		case c.failed[key], c.failed[driver.Key{Topic: key.Topic}]:
		case len(round) == c.most, key.Key != "" && taken[key]:
			later = append(later, i)
		default:
			taken[key] = true
			round = append(round, i)
		}
	}
	return round, later
}

// publish writes a round, and returns what was written. It fails records that NATS cannot carry.
func (c *call) publish(ctx context.Context, l *link, round []int) (sent []underway, err error) {
	if err := failpoint.Inject(ctx, failpoint.RelayMidBatch); err != nil {
		c.fail(round[0], outbox.FailureOutage, err)
		return nil, err
	}
	if cause := context.Cause(ctx); cause != nil {
		c.fail(round[0], outbox.FailureOutage, cause)
		return nil, cause
	}
	for _, i := range round {
		m, err := messageOf(&c.records[i])
		if err != nil {
			c.fail(i, outbox.FailurePermanent, err)
			continue
		}
		answer, err := l.js.PublishMsgAsync(m, jetstream.WithRetryAttempts(0))
		switch {
		case err == nil:
			sent = append(sent, underway{i, answer})
		case errors.Is(err, nats.ErrMaxPayload), errors.Is(err, nats.ErrBadSubject):
			c.fail(i, outbox.FailurePermanent, err)
		default:
			c.fail(i, outbox.FailureOutage, err)
			return sent, err
		}
	}
	return sent, nil
}

// await settles the records that were sent.
func (c *call) await(ctx context.Context, l *link, sent []underway) error {
	if err := failpoint.Inject(ctx, failpoint.RelayMidBatch); err != nil {
		return c.unknown(sent, err)
	}
	for n := 0; n < len(sent); {
		u := sent[n]
		if u.answer == nil { // its subject is denied, and it is settled
			n++
			continue
		}
		select {
		case <-u.answer.Ok():
			c.results[u.place] = outbox.Result{}
		case err := <-u.answer.Err():
			if err := c.judge(u.place, err); err != nil {
				return errors.Join(err, c.unknown(sent[n+1:], err))
			}
		case subject := <-l.denied:
			c.deny(subject, sent[n:])
			continue
		case <-l.closed:
			return c.unknown(sent[n:], errClosed)
		case <-ctx.Done():
			return c.unknown(sent[n:], context.Cause(ctx))
		}
		n++
	}
	return nil
}

// judge settles a record that was refused. An error means that nothing more should be sent.
func (c *call) judge(place int, err error) error {
	kind, ofTopic := classify(err)
	if ofTopic {
		c.failTopic(place, err)
		return nil
	}
	c.fail(place, kind, err)
	if kind == outbox.FailureOutage {
		return err
	}
	return nil
}

// deny fails the records of a subject that we may not write to: they have no answer.
func (c *call) deny(subject string, sent []underway) {
	for i := range sent {
		if c.records[sent[i].place].Topic == subject {
			c.failTopic(sent[i].place, nats.ErrPermissionViolation)
			sent[i].answer = nil
		}
	}
}

// unknown fails the records that were sent and have no answer.
func (c *call) unknown(sent []underway, err error) error {
	for _, u := range sent {
		if u.answer != nil {
			c.fail(u.place, outbox.FailureOutage, err)
		}
	}
	return err
}

func (c *call) failTopic(place int, err error) {
	topic := c.records[place].Topic
	c.fail(place, outbox.FailureOutage, fmt.Errorf("%w: subject %q: %w", outbox.ErrTopicUnavailable, topic, err))
	c.failed[driver.Key{Topic: topic}] = true
}

// fail settles a record, and holds back the later records of its key.
func (c *call) fail(place int, kind outbox.FailureKind, err error) {
	if kind == outbox.FailureOutage && !errors.Is(err, outbox.ErrTopicUnavailable) {
		err = out(c.at, err)
	} else {
		err = fmt.Errorf("leat: NATS: %w", err)
	}
	c.results[place] = outbox.Failed(kind, err)
	if r := &c.records[place]; r.Key != "" {
		c.failed[driver.Key{Topic: r.Topic, Key: r.Key}] = true
	}
}
