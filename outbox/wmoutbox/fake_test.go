package wmoutbox_test

import (
	"context"
	"slices"
	"sync"

	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
)

// fakeTx is a transaction that only has an identity.
type fakeTx struct{ name string }

// oddTx is a transaction of a type that Go cannot compare.
type oddTx struct{ statements []string }

// recorder is an Enqueuer that keeps its calls.
type recorder struct {
	err error

	mu    sync.Mutex
	calls []call
}

type call struct {
	tx   any
	msgs []outbox.Message
}

func (r *recorder) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call{tx: txctx.From(ctx), msgs: msgs})
	return r.err
}

func (r *recorder) Wake() {}

func (r *recorder) seen() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}
