package outbox

import "context"

// Enqueuer enqueues in the transaction that the context carries. Watermill's publishers and the
// inbox use it to work with any outbox, whatever its database; *pgoutbox.Outbox and
// *memoutbox.Outbox implement it.
//
// Implementations are safe for concurrent use.
type Enqueuer interface {
	// EnqueueContext stores msgs in the transaction that ctx carries, or returns
	// ErrNotInTransaction if it carries none that this outbox can use. All messages are stored,
	// or none, and the error names the one that was refused. A call without messages does
	// nothing.
	EnqueueContext(ctx context.Context, msgs ...Message) error

	// Wake notifies the relays of this process that a transaction has committed. It never
	// blocks and never fails; without it a relay finds the records by polling.
	Wake()
}

// Injector adds the context of a trace to a message's headers before it is
// stored, in the manner of W3C Trace Context. OpenTelemetry's propagators fit:
//
//	outbox.InjectorFunc(func(ctx context.Context, h map[string]string) {
//		propagation.TraceContext{}.Inject(ctx, propagation.MapCarrier(h))
//	})
type Injector interface {
	// Inject may add to headers. It is called from Enqueue, on the caller's goroutine, once per
	// message.
	Inject(ctx context.Context, headers map[string]string)
}

// InjectorFunc is a function that is an Injector.
type InjectorFunc func(ctx context.Context, headers map[string]string)

// Inject calls f.
func (f InjectorFunc) Inject(ctx context.Context, headers map[string]string) {
	f(ctx, headers)
}
