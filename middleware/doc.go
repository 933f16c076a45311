// Package middleware holds leat's middlewares for Watermill's router, one per file.
//
//	once, err := middleware.NewInbox(middleware.InboxConfig{For: in.For, Outbox: ob})
//	router.AddMiddleware(once) // each handler takes effect once; what it returns is enqueued
//
// Each has a constructor, such as NewInbox, which refuses a configuration that cannot work, with
// an error that wraps outbox.ErrInvalidConfig. Pass its result to router.AddMiddleware or
// handler.AddMiddleware, or wrap one function with it; NewConcurrently and NewDedupePublisher
// return decorators.
//
// The recommended order, outermost first:
//
//	Recoverer → metrics.Consumers → PoisonQueueWithFilter → Retry → Recoverer → otelleat.Tracer →
//	Inbox → Tracer.Inside → Timeout → CorrelationID → RollbackOnError → handler
//
// Recoverer, PoisonQueueWithFilter, Retry, Timeout and CorrelationID are Watermill's own.
//
// Middlewares outside Inbox see a message again with each retry, and never a transaction. Those
// inside run in the transaction and see the messages that the handler returns; outside there are
// none left. So a Retry inside would continue in a transaction that holds the writes of the
// failed try, and that PostgreSQL has aborted if a statement failed.
//
// Stability: stable, see docs/versions.md.
package middleware
