package metrics

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/twotier"
)

// Consumers observes inboxes, deduplicators and the caches in front of inboxes; one value serves
// all of them: give it to their Config.Hooks. Its Middleware observes handlers. It is safe for
// concurrent use.
type Consumers struct {
	inboxes         *series[inboxSeries]
	dedupes, caches *series[map[string]Counter]
	handlers        *series[map[string]Histogram]
}

type inboxSeries struct {
	outcomes map[string]Counter
	duration Histogram
	endToEnd Histogram
}

var (
	_ inbox.DeliveryHook  = (*Consumers)(nil)
	_ dedupe.DeliveryHook = (*Consumers)(nil)
	_ twotier.LookHook    = (*Consumers)(nil)
)

// Consumers returns an observer. inboxes are names of consumers that are known in advance: they
// are shown from the start.
func (m *Metrics) Consumers(inboxes ...string) *Consumers {
	c := &Consumers{}
	c.inboxes = newSeries(m.consumers, func(consumer string) inboxSeries {
		return inboxSeries{
			m.counters(inboxDeliveries, names(inbox.OutcomeFailed, inbox.OutcomeGivenUp), consumer),
			m.histogram(inboxDuration, consumer), m.histogram(inboxEndToEnd, consumer),
		}
	}, inboxes...)
	c.dedupes = newSeries(m.consumers, func(consumer string) map[string]Counter {
		return m.counters(dedupeDeliveries, names(dedupe.OutcomeRan, dedupe.OutcomePanicked), consumer)
	})
	c.caches = newSeries(m.consumers, func(consumer string) map[string]Counter {
		return m.counters(cacheLooks, []string{"missed", "skipped", "outlived"}, consumer)
	})
	c.handlers = newSeries(m.handlers, func(handler string) map[string]Histogram {
		all := map[string]Histogram{}
		for _, outcome := range []string{"ok", "failed", "panicked"} {
			all[outcome] = m.histogram(handlerDuration, handler, outcome)
		}
		return all
	})
	return c
}

// names returns the names of the outcomes from first to last.
func names[T interface {
	~int
	String() string
}](first, last T) []string {
	var all []string
	for o := first; o <= last; o++ {
		all = append(all, o.String())
	}
	return all
}

// count adds 1 to the counter of a known outcome.
func count(all map[string]Counter, outcome string) {
	if c, ok := all[outcome]; ok {
		c.Add(1)
	}
}

// OnInboxDelivery implements inbox.DeliveryHook.
func (c *Consumers) OnInboxDelivery(_ context.Context, e inbox.DeliveryEvent) {
	s := c.inboxes.of(e.Consumer)
	count(s.outcomes, e.Outcome.String())
	s.duration.Observe(e.Took.Seconds())
	if e.Outcome == inbox.OutcomeCommitted && !e.OccurredAt.IsZero() {
		s.endToEnd.Observe(max(0, time.Since(e.OccurredAt)).Seconds())
	}
}

// OnDedupeDelivery implements dedupe.DeliveryHook.
func (c *Consumers) OnDedupeDelivery(_ context.Context, e dedupe.DeliveryEvent) {
	count(c.dedupes.of(e.Key.Consumer), e.Outcome.String())
}

// OnTwotierLook implements twotier.LookHook.
func (c *Consumers) OnTwotierLook(_ context.Context, e twotier.LookEvent) {
	outcome := "missed"
	switch {
	case e.Skipped:
		outcome = "skipped"
	case e.Outlived:
		outcome = "outlived"
	}
	count(c.caches.of(e.Consumer), outcome)
}

// Middleware measures how long h takes, and how it ends: successfully, with an error, or in a
// panic. It is a middleware for Watermill's router.
func (c *Consumers) Middleware(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) (produced []*message.Message, err error) {
		handler, began := message.HandlerNameFromCtx(msg.Context()), time.Now()
		outcome := "panicked"
		defer func() { c.handlers.of(handler)[outcome].Observe(time.Since(began).Seconds()) }()
		produced, err = h(msg)
		if outcome = "ok"; err != nil {
			outcome = "failed"
		}
		return produced, err
	}
}
