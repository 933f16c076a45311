package kafkasource

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/hooks"
)

// stream delivers the messages of a subscription one by one, with several in flight.
type stream struct {
	cfg   *Config
	group string
	out   chan<- *message.Message
	slots chan struct{} // MaxInFlight
}

// flow serves one assignment of a stream.
type flow struct {
	*stream
	a        *assignment
	window   window
	lanes    *lanes
	prev     int64 // the offset delivered last
	inFlight int
	finished chan deliveryEnd
}

// deliveryEnd is the end of a delivery.
type deliveryEnd struct {
	it      *item
	outcome string
	settled bool // a malformed record that Config.Malformed has accepted
}

// serve delivers the records pushed to a until a drains and nothing is in flight, or its context
// ends.
func (s *stream) serve(a *assignment) {
	f := &flow{
		stream: s, a: a, window: newWindow(a.begin.Offset), lanes: newLanes(s.cfg.Concurrency == 1, s.cfg.KeylessConcurrent),
		prev: a.begin.Offset - 1, finished: make(chan deliveryEnd, s.cfg.Concurrency),
	}
	draining := a.draining
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for draining != nil || f.inFlight > 0 {
		if due, ok := f.lanes.wake(time.Now()); ok {
			timer.Reset(time.Until(due))
		}
		if draining != nil {
			f.launch()
		}
		select {
		case <-a.wake:
			for _, r := range a.take() {
				f.lanes.add(&item{record: r, n: f.window.add(r)})
			}
		case l := <-f.finished:
			f.ended(l)
		case <-timer.C:
		case <-draining:
			draining = nil
		case <-a.ctx.Done():
			draining = nil
			for f.inFlight > 0 { // these deliveries end with the context
				f.ended(<-f.finished)
			}
		}
	}
}

// launch begins as many deliveries as the limits allow.
func (f *flow) launch() {
	for f.inFlight < f.cfg.Concurrency {
		it := f.lanes.peek()
		if it == nil || (f.window.ahead() >= f.cfg.MaxAhead && !f.window.lowest(it.n)) {
			return
		}
		f.lanes.take()
		if it.attempt == 0 {
			it.prev, f.prev = f.prev, it.record.Offset
		}
		it.attempt++
		f.inFlight++
		go func() { f.finished <- f.deliver(it) }()
	}
}

// ended handles the end of a delivery.
func (f *flow) ended(l deliveryEnd) {
	f.inFlight--
	switch {
	case l.outcome == OutcomeAcked || l.settled:
		if l.settled && f.prev == l.it.record.Offset {
			f.prev = l.it.prev // it was not delivered
		}
		if !l.settled && f.lanes.serial {
			f.a.wasAcked(l.it.record.Offset)
		}
		f.window.settle(l.it.n)
		f.lanes.settle(l.it)
		f.a.settled(l.it.record, &f.window)
	case l.outcome == OutcomeAbandoned:
	default:
		f.a.doubts.raise()
		f.lanes.delay(l.it, time.Now().Add(f.cfg.redeliverAfter(l.it.attempt)))
	}
}

// deliver sends the message to the subscription's channel and waits for its end.
func (f *flow) deliver(it *item) deliveryEnd {
	if !f.a.doubts.wait(f.a) {
		return deliveryEnd{it: it, outcome: OutcomeAbandoned}
	}
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-f.a.draining:
		return deliveryEnd{it: it, outcome: OutcomeAbandoned}
	case <-f.a.ctx.Done():
		return deliveryEnd{it: it, outcome: OutcomeAbandoned}
	}
	ctx, cancel := context.WithCancel(f.a.messageContext(it.record, it.prev, f.lanes.serial))
	defer cancel()
	msg, err := f.cfg.Unmarshal(it.record)
	if err == nil && msg == nil {
		err = errors.New("Unmarshal returned no message")
	}
	start := time.Now()
	l := deliveryEnd{it: it, outcome: OutcomeMalformed}
	if err != nil {
		l.settled = malformed(ctx, f.cfg, f.a, it.record, err)
	} else {
		msg.SetContext(ctx)
		var handed bool
		if l.outcome, handed = f.hand(ctx, msg, &start); !handed {
			return l
		}
	}
	observe(ctx, f.cfg, driver.SourceEvent{
		Group: f.group, Topic: f.a.begin.Topic, Partition: f.a.begin.Partition, Offset: it.record.Offset,
		Attempt: it.attempt, Kind: l.outcome, Took: time.Since(start),
	})
	return l
}

// hand sends msg to the reader of the channel, which then owns it until it is acked or nacked or
// its context ends. Until the reader has received it, a drain takes it back.
func (f *flow) hand(ctx context.Context, msg *message.Message, start *time.Time) (outcome string, handed bool) {
	select {
	case f.out <- msg:
		*start = time.Now()
	case <-f.a.draining:
		return OutcomeAbandoned, false
	case <-ctx.Done():
		return OutcomeAbandoned, false
	}
	if failpoint.Inject(ctx, failpoint.ConsumerRebalanceMidHandler) != nil {
		return OutcomeAbandoned, true
	}
	select {
	case <-msg.Acked():
	case <-msg.Nacked():
		return OutcomeNacked, true
	case <-ctx.Done():
		return OutcomeAbandoned, true
	}
	if failpoint.Inject(ctx, failpoint.ConsumerAckLost) != nil {
		return OutcomeNacked, true
	}
	return OutcomeAcked, true
}

// malformed reports a record that could not be unmarshalled and reports whether it
// is settled.
func malformed(ctx context.Context, cfg *Config, a *assignment, r *kgo.Record, err error) bool {
	cfg.Logger.LogAttrs(ctx, slog.LevelError, "record cannot be unmarshalled",
		slog.String("topic", a.begin.Topic), slog.Int("partition", int(a.begin.Partition)),
		slog.Int64("offset", r.Offset), slog.Any("error", err))
	return cfg.Malformed(ctx, r, err) == nil
}

func observe(ctx context.Context, cfg *Config, e driver.SourceEvent) {
	hooks.Call(ctx, cfg.Logger, cfg.Hooks, func(h driver.SourceHook) { h.OnDriverSource(ctx, e) })
}
