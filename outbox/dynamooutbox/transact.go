package dynamooutbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

const (
	// busyFor is how long conflicts and throttling are tried again.
	busyFor = time.Minute
	// tokenLife is how long DynamoDB remembers the token of a request, less a minute.
	tokenLife = 9 * time.Minute
	// unsentTries is the number of tries to get credentials and a connection, as in the SDK.
	unsentTries = 3
)

// cancelled is the answer to a transaction that has written nothing.
type cancelled struct {
	// reasons has one entry for each item; Code is "None" for those that are not at fault.
	reasons []types.CancellationReason
	err     error
}

func (c *cancelled) Error() string { return "leat: transaction cancelled: " + c.err.Error() }
func (c *cancelled) Unwrap() error { return c.err }

// transact writes items, all or none. It returns nil, a *cancelled if a condition has failed, or
// another error. After that, the items may have been written only if the error says so.
//
// The SDK must not repeat the request: it does not report whether an earlier answer was lost, and
// then a conflict is one with ourselves. So a request with an unknown outcome is repeated with
// the same bytes and the same token until the outcome is known. What was refused because of a
// conflict is sent again as it is, with a new token: its conditions show whether it still
// applies.
func (o *Outbox) transact(ctx context.Context, items []types.TransactWriteItem) error {
	var r *request
	var unknown error // why the outcome of an earlier try of r is not known
	began := time.Now()
	for try := 0; ; try++ {
		if r == nil {
			var err error
			if r, err = newRequest(items); err != nil {
				return err
			}
		}
		kind, err := r.send(ctx, o.db)
		switch {
		case kind == outcomeDone:
			return nil
		case kind == outcomeCancelled:
			return cancellation(err)
		case kind == outcomeUnknown:
			unknown = err
		case kind == outcomeBusy && unknown == nil:
			r = nil
		}
		if again(kind, try, unknown != nil, time.Since(began)) && wait.For(ctx, pauseAfter(try)) == nil {
			continue
		}
		if unknown != nil {
			return fmt.Errorf("%w: the transaction may have been committed or not: %w", outbox.ErrCommitUnknown, errors.Join(unknown, err, context.Cause(ctx)))
		}
		return errors.Join(fmt.Errorf("leat: transaction: %w", err), context.Cause(ctx))
	}
}

// again reports whether another try may give a better answer.
func again(kind outcome, try int, unknown bool, since time.Duration) bool {
	switch {
	case kind == outcomeRefused:
		return false
	case unknown:
		return since < tokenLife
	case kind == outcomeUnsent:
		return try < unsentTries-1
	}
	return since < busyFor
}

// pauseAfter returns how long to wait before the next try.
func pauseAfter(try int) time.Duration {
	most := min(500*time.Millisecond, 4*time.Millisecond<<min(try, 10))
	return rand.N(most) + time.Millisecond //nolint:gosec // spreads writers; not a secret
}

func cancellation(err error) error {
	if c, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return &cancelled{reasons: c.CancellationReasons, err: err}
	}
	return fmt.Errorf("leat: transaction: %w", err)
}
