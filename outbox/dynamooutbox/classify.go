package dynamooutbox

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// outcome is the known outcome of a transaction after a try.
type outcome int

const (
	outcomeDone      outcome = iota
	outcomeCancelled         // it was processed: nothing was written, and nothing will be
	outcomeRefused           // this try was not processed, and another would not be either
	outcomeUnsent            // this try had no credentials or no connection
	outcomeBusy              // this try has written nothing, because of a conflict
	outcomeUnknown           // it may have been written, or be written soon
)

// classify returns what an error says about a request that was sent.
func classify(err error) outcome {
	if c, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return classifyReasons(c.CancellationReasons)
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return outcomeUnknown // an error of the connection or of the context
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

// isClientCode reports whether nothing was done, by a code that the SDK does not know.
func isClientCode(code string) bool {
	switch code {
	case "ValidationException", "AccessDeniedException", "UnrecognizedClientException", "MissingAuthenticationToken",
		"InvalidSignatureException", "ExpiredTokenException", "SerializationException":
		return true
	}
	return false
}

// classifyReasons: a failed condition takes precedence over conflicts.
func classifyReasons(reasons []types.CancellationReason) outcome {
	for _, r := range reasons {
		switch aws.ToString(r.Code) {
		case "", "None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
		default:
			return outcomeCancelled
		}
	}
	return outcomeBusy
}
