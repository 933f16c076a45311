// Package content decides the form of messages' payloads: types with versions, encrypted
// payloads, large payloads outside of the outbox, CloudEvents. All of it happens in the business
// transaction, so that an event that no consumer can read never commits. The relay only sends
// bytes.
//
// The package has two parts, and each is useful without the other.
//
// A Marshaler turns the values of event types into bytes by a Codec. It is a marshaler of
// Watermill's package cqrs:
//
//	events, err := content.NewMarshaler(content.Of[OrderPlaced]("shop.OrderPlaced", 1, content.JSON()))
//	bus, err := cqrs.NewEventBusWithConfig(publisher, cqrs.EventBusConfig{Marshaler: events, …})
//
// A Content changes the messages as a whole, on their way into the outbox and inside the
// inbox:
//
//	c, err := content.New(content.Config{Seal: &content.Seal{Keys: keys}})
//	publisher, err := wmoutbox.NewPublisher(c.Enqueuer(ob), wmoutbox.Config{})
//	handler.AddMiddleware(once, c.Middleware) // inside the inbox
//
// leat.Config.Content does both for a whole service.
//
// # Inside the inbox
//
// For a failed message, the inbox stores the form outside of Middleware, Handle and Batch: the
// sealed bytes and the reference. If a message were opened outside of the inbox, it would be
// parked in clear text.
//
// # Headers
//
//   - event-version: the version of the type, 1 if there is none
//   - content-key: the name of the key that seals the payload
//   - content-claim: 1, if the payload is a reference into a Blobs store
//   - leat_opened: set in the metadata of a message that is open, and removed by Enqueuer
//
// The header content-type is the type of the payload as a handler sees it. With Structured
// CloudEvents it is the type of the envelope, which contains the other.
//
// Stability: young, see docs/versions.md.
package content
