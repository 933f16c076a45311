package metrics

import (
	"context"

	"github.com/leat-go/leat/outbox"
)

// Outbox observes the producers of one outbox. It is an outbox.EnqueueHook: give it to the
// outbox's Config.Hooks. It is safe for concurrent use.
type Outbox struct {
	m    *Metrics
	name string

	enqueued *series[Counter]
	errors   Counter
	duration Histogram
}

var _ outbox.EnqueueHook = (*Outbox)(nil)

// Outbox returns an observer of the outbox with a name of your choice, which is the label
// "outbox" of all its series. Errors wrap outbox.ErrInvalidConfig.
func (m *Metrics) Outbox(name string) (*Outbox, error) {
	if err := validName("name", name); err != nil {
		return nil, err
	}
	topic := func(topic string) Counter { return m.counter(outboxEnqueued, name, topic) }
	return &Outbox{
		m: m, name: name,
		enqueued: newSeries(m.topics, topic, m.cfg.Topics...),
		errors:   m.counter(outboxEnqueueErrors, name),
		duration: m.histogram(outboxEnqueueDuration, name),
	}, nil
}

// OnOutboxEnqueue implements outbox.EnqueueHook.
func (o *Outbox) OnOutboxEnqueue(_ context.Context, e outbox.EnqueueEvent) {
	o.duration.Observe(e.Took.Seconds())
	if e.Err != nil {
		o.errors.Add(1)
		return
	}
	for i := range e.Messages {
		o.enqueued.of(e.Messages[i].Topic).Add(1)
	}
}
