package dynamooutbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/wait"
)

const (
	// busyFor is how long conflicts and throttling are tried again.
	busyFor = time.Minute
	// tokenLife is how long DynamoDB knows the token of a request, less a minute.
	tokenLife = 9 * time.Minute
)

// cancelled is the answer to a transaction of which nothing was written.
type cancelled struct {
	// reasons has one entry for each item; Code is "None" of those that are not at fault.
	reasons []types.CancellationReason
	err     error
}

func (c *cancelled) Error() string { return "leat: transaction cancelled: " + c.err.Error() }
func (c *cancelled) Unwrap() error { return c.err }

// transact writes items, all or none. It returns nil, a *cancelled if a condition has failed,
// or another error after which it may have been written only if that says so.
//
// The SDK must not repeat the request: it does not tell whether an answer was lost before, and
// then a conflict is that with ourselves. So an unknown outcome is asked about with the same
// bytes and the same token until it is known. What was refused for others' sake is sent again
// as it is, with a new token: its conditions say whether it still fits.
func (o *Outbox) transact(ctx context.Context, items []types.TransactWriteItem) error {
	var unknown error // why the outcome of an earlier try is not known
	began, token := time.Now(), ""
	for try := 0; ; try++ {
		if token == "" {
			id, err := ids.New()
			if err != nil {
				return err
			}
			token = id
		}
		err := o.writeOnce(ctx, items, token)
		kind := classify(err)
		switch {
		case kind == outcomeDone:
			return nil
		case kind == outcomeRefused:
			return refusal(err)
		case kind == outcomeUnknown:
			unknown = err
		case unknown == nil:
			token = ""
		}
		if ctx.Err() == nil && time.Since(began) < busyFor || unknown != nil && time.Since(began) < tokenLife {
			if wait.For(ctx, pauseAfter(try)) == nil {
				continue
			}
		}
		if unknown != nil {
			return fmt.Errorf("leat: the transaction may have been committed or not: %w", errors.Join(unknown, context.Cause(ctx)))
		}
		return errors.Join(fmt.Errorf("leat: transaction: %w", err), context.Cause(ctx))
	}
}

func (o *Outbox) writeOnce(ctx context.Context, items []types.TransactWriteItem, token string) error {
	_, err := o.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: items, ClientRequestToken: &token,
	}, once)
	return err
}

// once keeps the SDK from repeating a request.
func once(options *dynamodb.Options) { options.Retryer = aws.NopRetryer{} }

// pauseAfter returns how long to wait before the next try.
func pauseAfter(try int) time.Duration {
	most := min(500*time.Millisecond, 4*time.Millisecond<<min(try, 10))
	return rand.N(most) + time.Millisecond //nolint:gosec // spreads writers, no secret
}

// outcome is what is known of a transaction after an answer.
type outcome int

const (
	outcomeDone    outcome = iota
	outcomeRefused         // nothing was written, and will not be
	outcomeBusy            // nothing was written, others are in the way
	outcomeUnknown         // it may have been written, or be written soon
)

func classify(err error) outcome {
	if err == nil {
		return outcomeDone
	}
	if c, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return classifyReasons(c.CancellationReasons)
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return outcomeUnknown // the connection, or the context
	}
	switch api.ErrorCode() {
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "TransactionConflictException":
		return outcomeBusy
	case "TransactionInProgressException":
		return outcomeUnknown
	}
	if api.ErrorFault() == smithy.FaultServer || api.ErrorFault() == smithy.FaultUnknown && !isClientCode(api.ErrorCode()) {
		return outcomeUnknown
	}
	return outcomeRefused
}

// isClientCode reports whether a code that the SDK does not know says that nothing was done.
func isClientCode(code string) bool {
	switch code {
	case "ValidationException", "AccessDeniedException", "UnrecognizedClientException", "MissingAuthenticationToken",
		"InvalidSignatureException", "ExpiredTokenException", "SerializationException":
		return true
	}
	return false
}

// classifyReasons: a condition that has failed decides, whoever else is in the way.
func classifyReasons(reasons []types.CancellationReason) outcome {
	for _, r := range reasons {
		switch aws.ToString(r.Code) {
		case "", "None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
		default:
			return outcomeRefused
		}
	}
	return outcomeBusy
}

func refusal(err error) error {
	if c, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return &cancelled{reasons: c.CancellationReasons, err: err}
	}
	return fmt.Errorf("leat: transaction: %w", err)
}
