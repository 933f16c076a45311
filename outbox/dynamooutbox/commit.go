package dynamooutbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
)

// RefusedError is the error of a transaction in which an item of the caller was refused, usually
// because its condition failed. Nothing was written.
type RefusedError struct {
	// Reasons has one entry for each item that was added, in the order of Add.
	Reasons []types.CancellationReason
	err     error
}

// Error returns DynamoDB's message.
func (e *RefusedError) Error() string { return "leat: transaction refused: " + e.err.Error() }

// Unwrap returns the SDK's error.
func (e *RefusedError) Unwrap() error { return e.err }

// Commit sends the items and messages in one TransactWriteItems and ends tx. It does not wake
// the relays. If nothing was added, it is a no-op.
//
// On a conflict, over the order of a key or with other writers of the same items, it tries again
// with the caller's items as they are, for a minute at most. It returns
// outbox.ErrNotInTransaction if tx has ended already, and a *RefusedError if an item of the
// caller was refused. If an answer is missing it sends the same request again, for nine minutes
// at most: give ctx a deadline. If ctx ends before, or DynamoDB does not accept the repeat any
// more, the error wraps outbox.ErrCommitUnknown: check whether it was committed before you try
// again. After any other error it was not.
func (tx *Tx) Commit(ctx context.Context) error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.ended {
		return outbox.ErrNotInTransaction
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	tx.ended = true
	if len(tx.items)+len(tx.msgs) == 0 {
		return nil
	}
	if err := tx.ob.commit(ctx, tx.items, tx.msgs); err != nil {
		return err
	}
	if err := failpoint.Inject(ctx, failpoint.ProducerCommitAmbiguous); err != nil {
		return fmt.Errorf("%w: %w", outbox.ErrCommitUnknown, err)
	}
	return nil
}

func (o *Outbox) commit(ctx context.Context, items []types.TransactWriteItem, msgs []outbox.Message) error {
	began := time.Now()
	for try := 0; ; try++ {
		b, err := o.build(ctx, msgs)
		if err != nil {
			return err
		}
		err = o.transact(ctx, append(slices.Clip(items), b.items...))
		if err == nil {
			o.counters.keep(b.last)
			return nil
		}
		o.counters.forget(b.last)
		c, ok := errors.AsType[*cancelled](err)
		if !ok {
			return err
		}
		if own := callersReasons(c.reasons, len(items)); own != nil {
			return &RefusedError{Reasons: own, err: c.err}
		}
		if !b.learn(&o.counters, c.reasons[min(len(items), len(c.reasons)):]) || time.Since(began) > busyFor {
			return err
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// callersReasons returns the reasons of the first n items if one of them was refused.
func callersReasons(reasons []types.CancellationReason, n int) []types.CancellationReason {
	own := reasons[:min(n, len(reasons))]
	if classifyReasons(own) == outcomeCancelled {
		return own
	}
	return nil
}

func conditionFailed(r types.CancellationReason) bool {
	return aws.ToString(r.Code) == "ConditionalCheckFailed"
}
