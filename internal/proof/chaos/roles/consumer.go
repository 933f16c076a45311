package roles

import (
	"context"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	wmmiddleware "github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/outbox"
)

// router returns a router whose handlers count as work in flight and survive a panic.
func (p *process) router() (*message.Router, error) {
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: 5 * time.Second}, watermill.NopLogger{})
	if err != nil {
		return nil, fmt.Errorf("make the router: %w", err)
	}
	router.AddMiddleware(p.counting, wmmiddleware.Recoverer)
	return router, nil
}

// counting counts the deliveries that h is processing as work in flight.
func (p *process) counting(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		p.inflight.Add(1)
		defer p.inflight.Add(-1)
		return h(msg)
	}
}

// subscriber returns a member of a group, with short timeouts. marks may be nil.
func (p *process) subscriber(group string, marks driver.Marker) (*kafkasource.Subscriber, error) {
	return kafkasource.NewSubscriber(p.Brokers, group, kafkasource.Config{
		Options: p.kafkaOptions(), Concurrency: 8, MaxInFlight: 16,
		RedeliverDelay: 20 * time.Millisecond, MaxRedeliverDelay: 500 * time.Millisecond,
		CommitInterval: 200 * time.Millisecond, SessionTimeout: SessionTimeout, DrainTimeout: time.Second,
		Marks: marks, Logger: p.log, Hooks: []outbox.Hook{groupEyes{p}},
	})
}

// groupEyes report the loss of partitions and deliveries as consequences.
type groupEyes struct{ *process }

// OnDriverSource implements driver.SourceHook.
func (e groupEyes) OnDriverSource(_ context.Context, s driver.SourceEvent) {
	switch s.Kind {
	case kafkasource.OutcomeAbandoned:
		e.watch.seen("delivery abandoned")
	case kafkasource.Assigned, kafkasource.Released, kafkasource.Lost:
		e.watch.seen("rebalance: partition " + s.Kind)
	}
}
