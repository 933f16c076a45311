package wmsink

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// errPanic is wrapped by the error of a record whose publisher, or whose
// Config.Classify, has panicked.
var errPanic = errors.New("leat: the publisher has panicked")

// Sink delivers records through a Watermill publisher. It is safe for
// concurrent use.
type Sink struct {
	pub   message.Publisher
	cfg   Config
	seed  maphash.Seed
	lanes []*lane
}

var _ driver.Sink = (*Sink)(nil)

// New returns a Sink over pub, which must be safe for concurrent use, as Watermill demands. The
// caller must close pub, after the relay has ended and Wait has returned. The error wraps
// outbox.ErrInvalidConfig, including if pub is a publisher that is known to return nil for lost
// messages: watermill-amqp's without ConfirmDelivery or with Transactional, watermill-nats's
// without JetStream or with TrackMsgId, watermill-http's with a Client that follows redirects.
// docs/watermill-publishers.md lists the other required settings.
func New(pub message.Publisher, cfg Config) (*Sink, error) {
	cfg = cfg.withDefaults()
	if pub == nil {
		return nil, outbox.ConfigError("pub", pub, "must not be nil")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := refuseLossy(pub); err != nil {
		return nil, err
	}
	return &Sink{pub: pub, cfg: cfg, seed: maphash.MakeSeed(), lanes: newLanes(cfg.Lanes)}, nil
}

// Send implements driver.Sink. It returns when the publisher has answered for
// every record, or as soon as ctx has ended.
//
// A record that fails holds back the later records of its topic and key; if its
// error is an outage, all later records of its topic in the same lane. A message
// that was being published when ctx ended may still be delivered, but before any
// later record of its key; the lane remembers that it was acknowledged, so that
// the next Send does not publish it again.
func (s *Sink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	c := newCall(records)
	if len(records) == 0 || ctx.Err() != nil {
		return c.end(ctx)
	}
	queues, busy := s.spread(records)
	done := make(chan struct{})
	var running atomic.Int64
	running.Store(int64(busy))
	for i := range queues {
		if len(queues[i].places) == 0 {
			continue
		}
		go func() {
			defer func() {
				if running.Add(-1) == 0 {
					close(done)
				}
			}()
			s.run(ctx, c, s.lanes[i], &queues[i])
		}()
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
	return c.end(ctx)
}

// spread deals records out to the lanes and counts those that have work. Records without a key
// are distributed by their number, so that a repeat gets the lane of its first copy, which may
// still be in flight.
func (s *Sink) spread(records []outbox.Record) (queues []queue, busy int) {
	queues = make([]queue, len(s.lanes))
	lanes := uint64(len(s.lanes))
	for i := range records {
		r := &records[i]
		at := uint64(r.Seq) % lanes //nolint:gosec // any number works
		if r.Key != "" {
			at = maphash.Comparable(s.seed, order{r.Topic, r.Key}) % lanes
		}
		q := &queues[at]
		if len(q.places) == 0 {
			busy++
		}
		q.places = append(q.places, int32(i))
	}
	return queues, busy
}

// run publishes the records of q in lane l, once the lane is free.
func (s *Sink) run(ctx context.Context, c *call, l *lane, q *queue) {
	if l.take(ctx) != nil {
		return
	}
	defer l.free()
	for {
		j, ok := c.next(ctx, q)
		if !ok {
			return
		}
		if l.acknowledged(j) {
			c.settle(q, j.place, outbox.Result{})
			continue
		}
		result := s.publish(ctx, j.topic, j.msg)
		if !c.settle(q, j.place, result) && result.Err == nil {
			l.remember(j)
		}
	}
}

// publish makes one call of Publish.
func (s *Sink) publish(ctx context.Context, topic string, msg *message.Message) (result outbox.Result) {
	defer func() {
		if p := recover(); p != nil {
			result = outbox.Failed(outbox.FailureUnknown, fmt.Errorf("%w: %v", errPanic, p))
			s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "publisher has panicked",
				slog.String("topic", topic), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		}
	}()
	err := s.pub.Publish(topic, msg)
	if err == nil {
		return outbox.Result{}
	}
	kind := s.cfg.Classify(err)
	if kind != outbox.FailureOutage && kind != outbox.FailurePermanent {
		kind = outbox.FailureUnknown
	}
	return outbox.Failed(kind, fmt.Errorf("publish to %.200q: %w", topic, err))
}

// Wait returns when no call of Publish is running, or with an error when ctx has ended. Call it
// after the relay has ended and before you close the publisher, so that no message is in flight.
// Give it a deadline: if a call hangs, only closing the publisher ends it.
func (s *Sink) Wait(ctx context.Context) error {
	for i, l := range s.lanes {
		if err := l.take(ctx); err != nil {
			return fmt.Errorf("leat: lane %d is still publishing: %w", i, err)
		}
		l.free()
	}
	return nil
}
