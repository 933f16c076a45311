package outbox

import (
	"context"
	"time"
)

// EnqueueHook sees every call that enqueues in a transaction at once. It does not see
// statements that are only handed out, for a batch or for another library to run.
// Implementations are safe for concurrent use and return quickly: they run inside the
// business transaction.
type EnqueueHook interface {
	// OnEnqueue is called once after each call, with its messages as they were stored
	// (none if the call was refused), the time it took and its error. The transaction has
	// not committed yet and may still roll back.
	OnEnqueue(ctx context.Context, msgs []Message, took time.Duration, err error)
}
