package main

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/examples/internal/servers"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

const tables = `
	CREATE TABLE orders  (id text PRIMARY KEY, cents bigint NOT NULL CHECK (cents > 0));
	CREATE TABLE loyalty (order_id text NOT NULL, points bigint NOT NULL)`

// marshaler names an event's topic after its type, as in most services.
func marshaler() cqrs.JSONMarshaler { return cqrs.JSONMarshaler{GenerateName: cqrs.StructName} }

// app holds what the service's parts share.
type app struct {
	servers *servers.Servers
	ob      *pgoutbox.Outbox
	bus     *cqrs.EventBus
	sink    *kafkasink.Sink
	relay   *relay.Relay
}

func newApp(ctx context.Context, s *servers.Servers) (*app, error) {
	ob, err := pgoutbox.New(s.Pool, pgoutbox.Config{})
	if err != nil {
		return nil, err
	}
	_, err = s.Pool.Exec(ctx, tables)
	err = errors.Join(err, ob.Migrate(ctx))
	for _, topic := range []string{"OrderPlaced", "PointsEarned"} {
		_, e := s.CreateTopic(ctx, topic)
		err = errors.Join(err, e)
	}
	if err != nil {
		return nil, err
	}
	a := &app{servers: s, ob: ob}
	if a.bus, err = newEventBus(s, ob); err != nil {
		return nil, err
	}
	source, err := ob.Source(pgoutbox.SourceConfig{})
	if err != nil {
		return nil, err
	}
	if a.sink, err = kafkasink.New(s.Brokers, kafkasink.Config{}); err != nil {
		return nil, err
	}
	a.relay, err = relay.New(source, a.sink, relay.Config{})
	return a, err
}

// newEventBus is an ordinary event bus on another publisher.
func newEventBus(s *servers.Servers, ob *pgoutbox.Outbox) (*cqrs.EventBus, error) {
	pub, err := wmoutbox.NewPublisher(ob, wmoutbox.Config{})
	if err != nil {
		return nil, err
	}
	return cqrs.NewEventBusWithConfig(pub, cqrs.EventBusConfig{
		GeneratePublishTopic: func(p cqrs.GenerateEventPublishTopicParams) (string, error) {
			return s.Name(p.EventName), nil
		},
		OnPublish: func(p cqrs.OnEventSendParams) error { // the key that keeps an order's events in order
			switch e := p.Event.(type) {
			case *OrderPlaced:
				p.Message.Metadata.Set(outbox.HeaderKey, e.OrderID)
			case *PointsEarned:
				p.Message.Metadata.Set(outbox.HeaderKey, e.OrderID)
			}
			return nil
		},
		Marshaler: marshaler(),
	})
}

func newEventProcessor(a *app, router *message.Router) (*cqrs.EventProcessor, error) {
	return cqrs.NewEventProcessorWithConfig(router, cqrs.EventProcessorConfig{
		GenerateSubscribeTopic: func(p cqrs.EventProcessorGenerateSubscribeTopicParams) (string, error) {
			return a.servers.Name(p.EventName), nil
		},
		SubscriberConstructor: func(p cqrs.EventProcessorSubscriberConstructorParams) (message.Subscriber, error) {
			return a.servers.Subscriber(p.HandlerName)
		},
		Marshaler: marshaler(),
	})
}

// add registers a handler behind an inbox of the same name.
func add(ctx context.Context, a *app, events *cqrs.EventProcessor, handler cqrs.EventHandler) error {
	in, err := pginbox.New(a.servers.Pool, handler.HandlerName(), pginbox.Config{})
	if err != nil {
		return err
	}
	if err := in.Migrate(ctx); err != nil {
		return err
	}
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in, Outbox: a.ob})
	if err != nil {
		return err
	}
	h, err := events.AddHandler(handler)
	if err != nil {
		return err
	}
	h.AddMiddleware(once)
	return nil
}
