package dynamooutbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
)

// Enqueue adds msgs to tx: all of them, or none, and then the error names the one at fault.
// They are published after tx has committed, and only then.
//
// Order: messages of the same topic and key are published in the order of the commits. No
// transaction waits: Commit assigns the numbers, and if another transaction of the key was
// faster, it tries again with the numbers after that.
//
// Errors: outbox.ErrNotInTransaction if tx is nil or has ended, outbox.ErrWrongDatabase if it
// is another Outbox's, an *outbox.InvalidMessageError for a message that cannot be stored, and
// an error if the transaction has too many items (100: yours, one for each message and one for each of their keys) or bytes. Nothing was added then.
// Messages with a NotBefore are refused.
func (o *Outbox) Enqueue(ctx context.Context, tx *Tx, msgs ...outbox.Message) error {
	began := time.Now()
	ready, err := o.enqueue(ctx, tx, msgs)
	if len(o.cfg.Hooks) > 0 {
		e := outbox.EnqueueEvent{Messages: ready, Took: time.Since(began), Err: err}
		hooks.Call(ctx, o.cfg.Logger, o.cfg.Hooks, func(h outbox.EnqueueHook) { h.OnOutboxEnqueue(ctx, e) })
	}
	return err
}

// EnqueueContext is Enqueue in the transaction that ctx carries: put there by InTx,
// ContextWithTx, or by an inbox around a handler.
func (o *Outbox) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	tx, ok := txctx.As[*Tx](ctx)
	if !ok {
		return fmt.Errorf("%w: the context carries no *dynamooutbox.Tx", outbox.ErrNotInTransaction)
	}
	return o.Enqueue(ctx, tx, msgs...)
}

// enqueue returns the messages as they were added or, after an error, as they would have been.
func (o *Outbox) enqueue(ctx context.Context, tx *Tx, msgs []outbox.Message) ([]outbox.Message, error) {
	if tx == nil {
		return nil, outbox.ErrNotInTransaction
	}
	if tx.ob != o {
		return nil, outbox.ErrWrongDatabase
	}
	ready, err := o.prepare(ctx, msgs)
	if err != nil {
		return nil, err
	}
	if err := failpoint.Inject(ctx, failpoint.ProducerBeforeInsert); err != nil {
		return ready, err
	}
	if err := tx.enqueue(ready); err != nil {
		return ready, err
	}
	return ready, failpoint.Inject(ctx, failpoint.ProducerAfterInsert)
}

// prepare returns copies of msgs that are complete and can be stored.
func (o *Outbox) prepare(ctx context.Context, msgs []outbox.Message) ([]outbox.Message, error) {
	ready, err := o.preparer.Prepare(ctx, msgs)
	if err != nil {
		return nil, err
	}
	for i := range ready {
		m := &ready[i]
		if err := refuse(m); err != nil {
			err.Index = i
			return nil, err
		}
		m.Payload, m.Headers = slices.Clone(m.Payload), maps.Clone(m.Headers)
		m.OccurredAt = m.OccurredAt.UTC().Truncate(time.Microsecond)
	}
	return ready, nil
}

// maxItemBytes bounds an item together with everything that a relay may add when it sets the
// record aside.
const maxItemBytes = 380_000

// refuse returns an error for a message that an item cannot hold.
func refuse(m *outbox.Message) *outbox.InvalidMessageError {
	if m.NotBefore.After(time.Now()) {
		return &outbox.InvalidMessageError{Field: "NotBefore", Value: m.NotBefore.String(), Reason: "must not lie ahead: there are no delayed messages"}
	}
	if n := sizeOf(m); n > maxItemBytes {
		return &outbox.InvalidMessageError{Field: "Headers", Value: strconv.Itoa(n) + " bytes", Reason: "and all else of the message must have at most 380000 bytes"}
	}
	return nil
}
