package kafkasource

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/failpoint"
)

// RunBatches joins the group as a member of its own and calls fn with up to BatchSize messages of
// the topic at a time: as many as there are, without waiting for more. For each partition, fn has
// one batch at a time. Messages that fail are passed to fn again, after a delay that grows like
// RedeliverDelay, and the partition's later messages wait. Offsets are committed up to the first
// message that is not done.
//
// Fn gets one or more messages of one partition, in order. It returns nil if all of them are
// done, or one error per message, nil for those that are done; any other number of errors fails
// them all. The context ends when the partition is given up: fn must then return soon, since the
// group waits for it. It is called concurrently for different partitions. It need not ack. A
// message's own context carries its driver.Position. Handle of an inbox.Batch returns such a
// function.
//
// RunBatches returns nil when ctx has ended or Close was called and fn has returned,
// outbox.ErrClosed after Close, and an error that wraps outbox.ErrInvalidConfig for a
// topic that Subscribe refuses.
func (s *Subscriber) RunBatches(ctx context.Context, topic string, fn inbox.BatchFunc) error {
	b := &batches{cfg: &s.cfg, group: s.group, fn: fn}
	sub, err := s.begin(topic, b.serve, s.cfg.BatchSize == 1)
	if err != nil {
		return err
	}
	defer s.running.Done()
	defer s.release(topic)
	sub.run(ctx)
	return nil
}

// batches delivers the messages of a topic in batches.
type batches struct {
	cfg   *Config
	group string
	fn    inbox.BatchFunc
}

// batchFlow serves one assignment of batches.
type batchFlow struct {
	*batches
	a      *assignment
	window window
	prev   int64
}

// serve passes the records pushed to a to fn, until a drains or its context ends.
func (b *batches) serve(a *assignment) {
	h := &batchFlow{batches: b, a: a, window: newWindow(a.begin.Offset), prev: a.begin.Offset - 1}
	var queue []*item
	for h.goesOn() {
		if len(queue) == 0 {
			select {
			case <-a.wake:
			case <-a.draining:
			case <-a.ctx.Done():
			}
		}
		for _, r := range a.take() {
			queue = append(queue, &item{record: r, n: h.window.add(r)})
		}
		n := min(b.cfg.BatchSize, len(queue))
		h.batch(queue[:n])
		queue = queue[n:]
	}
}

func (h *batchFlow) goesOn() bool {
	select {
	case <-h.a.draining:
		return false
	case <-h.a.ctx.Done():
		return false
	default:
		return true
	}
}

// batch calls fn until every message is done, or the assignment ends.
func (h *batchFlow) batch(pending []*item) {
	for attempt := 1; len(pending) > 0 && h.goesOn(); attempt++ {
		if !h.a.doubts.wait(h.a) {
			return
		}
		left := h.call(pending)
		if len(left) > 0 && left[0] == pending[0] {
			pause(h.a.ctx, h.cfg.redeliverAfter(attempt), h.a.draining)
		}
		pending = left
	}
}

// call passes fn the messages of pending up to one that cannot be unmarshalled, and returns those
// that are left to do.
func (h *batchFlow) call(pending []*item) (left []*item) {
	msgs := make([]*message.Message, 0, len(pending))
	for _, it := range pending {
		msg, err := h.cfg.Unmarshal(it.record)
		if err == nil && msg == nil {
			err = errors.New("Unmarshal returned no message")
		}
		if err != nil && len(msgs) == 0 {
			return h.refused(pending, err)
		}
		if err != nil {
			break
		}
		if it.attempt == 0 {
			it.prev, h.prev = h.prev, it.record.Offset
		}
		it.attempt++
		msg.SetContext(h.a.messageContext(it.record, it.prev, h.cfg.BatchSize == 1))
		msgs = append(msgs, msg)
	}
	start := time.Now()
	errs := h.results(len(msgs), h.fn(h.a.ctx, msgs))
	took := time.Since(start)
	lost := failpoint.Inject(h.a.ctx, failpoint.ConsumerAckLost)
	for i, it := range pending[:len(msgs)] {
		outcome := OutcomeAcked
		if errs[i] != nil || lost != nil {
			outcome = OutcomeNacked
			left = append(left, it)
			h.a.doubts.raise()
		} else {
			h.settle(it)
		}
		h.observe(msgs[i].Context(), it, outcome, took)
	}
	return append(left, pending[len(msgs):]...)
}

// refused handles a first record that cannot be unmarshalled.
func (h *batchFlow) refused(pending []*item, err error) (left []*item) {
	first := pending[0]
	first.attempt++
	ctx := h.a.messageContext(first.record, h.prev, false)
	taken := malformed(ctx, h.cfg, h.a, first.record, err)
	h.observe(ctx, first, OutcomeMalformed, 0)
	if !taken {
		return pending
	}
	h.settle(first)
	return pending[1:]
}

// results returns one result per message.
func (h *batchFlow) results(n int, errs []error) []error {
	if len(errs) == n {
		return errs
	}
	results := make([]error, n)
	if len(errs) == 0 {
		return results
	}
	h.cfg.Logger.LogAttrs(h.a.ctx, slog.LevelError, "batch failed",
		slog.String("topic", h.a.begin.Topic), slog.Int("messages", n), slog.Int("errors", len(errs)),
		slog.Any("error", errBatchResults))
	for i := range results {
		results[i] = errBatchResults
	}
	return results
}

func (h *batchFlow) settle(it *item) {
	h.window.settle(it.n)
	h.a.settled(it.record, &h.window)
}

func (h *batchFlow) observe(ctx context.Context, it *item, outcome string, took time.Duration) {
	observe(ctx, h.cfg, driver.SourceEvent{
		Group: h.group, Topic: h.a.begin.Topic, Partition: h.a.begin.Partition, Offset: it.record.Offset,
		Attempt: it.attempt, Kind: outcome, Took: took,
	})
}
