// Package middleware holds leat's middlewares for Watermill's router, one a
// file.
//
//	once, err := middleware.NewInbox(middleware.InboxConfig{For: in.For, Outbox: ob})
//	router.AddMiddleware(once) // each handler takes effect once; what it returns is enqueued
//
// Each is made by its constructor, such as NewInbox, which refuses a configuration that
// cannot work with an error that wraps outbox.ErrInvalidConfig. What it returns goes to
// router.AddMiddleware, handler.AddMiddleware or around one function; NewConcurrently and
// NewDedupePublisher return decorators.
//
// The recommended order, outermost first:
//
//	Recoverer → metrics.Consumers → PoisonQueueWithFilter → Retry → Recoverer → otelleat.Tracer →
//	Inbox → Tracer.Inside → Timeout → CorrelationID → RollbackOnError → handler
//
// Recoverer, PoisonQueueWithFilter, Retry, Timeout and CorrelationID are Watermill's own.
//
// What stands outside Inbox sees a message once more when it is tried again,
// and never a transaction. What stands inside runs in the transaction and sees
// the messages that the handler returns; outside, there are none left. So a
// Retry inside would go on in a transaction that holds what the failed try wrote,
// and that PostgreSQL has given up if a statement failed.
//
// Stability: stable, see docs/versions.md.
package middleware
