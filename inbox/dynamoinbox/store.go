package dynamoinbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

// item is a DynamoDB item. There is one for each message that was processed.
type item = map[string]types.AttributeValue

// Attributes of an item.
const (
	attrKey  = "pk" // the 16 bytes of the id as it is stored, and the consumer's name
	attrID   = "id" // the id, for operators
	attrDone = "at" // when it was processed, in microseconds since 1970
	// attrExpires is when DynamoDB may delete it, in seconds. Nothing else depends on it: a
	// message whose item exists was processed.
	attrExpires = "ttl"
	// attrIDs is the source of a consumer's ids, in an item of its own.
	attrIDs = "ids"
)

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// store is the driver.Store of one consumer.
type store struct {
	ob       *dynamooutbox.Outbox
	client   *dynamodb.Client
	consumer string
	cfg      Config
}

var _ driver.IDNamer = (*store)(nil)

func (s *store) keyOf(id string) item {
	stored, _ := ids.Map(id)
	return item{attrKey: &types.AttributeValueMemberB{Value: append(stored[:], s.consumer...)}}
}

// Claim implements driver.Store. It reads, and begins a transaction whose first item is the
// record of the id.
func (s *store) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.cfg.Table, Key: s.keyOf(id), ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String(attrKey),
	})
	if err != nil {
		return nil, 0, explain("look for a message", err)
	}
	if len(out.Item) > 0 {
		return nil, driver.Duplicate, nil
	}
	now := time.Now()
	if theirs, ok := middleware.GetServerTime(out.ResultMetadata); ok && theirs.After(now) {
		now = theirs // DynamoDB deletes by its own clock, and ours may be behind
	}
	record := s.keyOf(id)
	record[attrID] = &types.AttributeValueMemberB{Value: []byte(id)}
	record[attrDone], record[attrExpires] = number(now.UnixMicro()), number(now.Add(s.cfg.Retention).Unix())
	tx := s.ob.Begin()
	err = tx.Add(types.TransactWriteItem{Put: &types.Put{
		TableName: &s.cfg.Table, Item: record, ConditionExpression: aws.String("attribute_not_exists(pk)"),
	}})
	if err != nil {
		return nil, 0, err
	}
	return &unit{tx: tx, ob: s.ob}, driver.Claimed, nil
}

// NameIDs implements driver.IDNamer. The item of the name has a key of 16 bytes, shorter than
// that of any message. The consumer's messages are not counted: that would read the whole table.
func (s *store) NameIDs(ctx context.Context, name string) (noted string, remembered int64, err error) {
	stored, _ := ids.Map(s.consumer)
	key := item{attrKey: &types.AttributeValueMemberB{Value: stored[:]}}
	for range 2 {
		out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.cfg.Table, Key: key, ConsistentRead: aws.Bool(true)})
		if err != nil {
			return "", 0, explain("look where ids come from", err)
		}
		if from, ok := out.Item[attrIDs].(*types.AttributeValueMemberB); ok {
			return string(from.Value), -1, nil
		}
		_, err = s.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &s.cfg.Table, Item: item{attrKey: key[attrKey], attrIDs: &types.AttributeValueMemberB{Value: []byte(name)}},
			ConditionExpression: aws.String("attribute_not_exists(ids)"),
		})
		if _, noted := errors.AsType[*types.ConditionalCheckFailedException](err); !noted {
			return "", 0, explain("note where ids come from", err)
		}
	}
	return "", 0, errors.New("leat: dynamodb: the note of where ids come from cannot be read")
}

var _ driver.Classifier = (*store)(nil)

// Conflict implements driver.Classifier: Commit has tried again itself.
func (s *store) Conflict(error) bool { return false }

// Outage implements driver.Classifier: DynamoDB has no capacity, does not work, or takes no request of ours.
func (s *store) Outage(err error) bool {
	if c, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return throttled(c.CancellationReasons)
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return false
	}
	switch api.ErrorCode() {
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded",
		"ExpiredTokenException", "InvalidSignatureException", "UnrecognizedClientException": // of credentials, or of our clock
		return true
	}
	return api.ErrorFault() == smithy.FaultServer
}

// throttled reports whether a transaction was cancelled since it lacked capacity, and for nothing else.
func throttled(reasons []types.CancellationReason) (lacks bool) {
	for _, r := range reasons {
		switch aws.ToString(r.Code) {
		case "", "None", "TransactionConflict":
		case "ThrottlingError", "ProvisionedThroughputExceeded":
			lacks = true
		default:
			return false
		}
	}
	return lacks
}

// explain adds to err which call failed; nil stays nil.
func explain(what string, err error) error {
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		return fmt.Errorf("%w: call Setup: %w", outbox.ErrNotMigrated, err)
	}
	if err != nil {
		return fmt.Errorf("leat: dynamodb: %s: %w", what, err)
	}
	return nil
}

// unit is a transaction that has sent nothing yet.
type unit struct {
	tx *dynamooutbox.Tx
	ob *dynamooutbox.Outbox
}

// Context implements driver.Unit.
func (u *unit) Context(ctx context.Context) context.Context {
	return dynamooutbox.ContextWithTx(ctx, u.tx)
}

// Commit implements driver.Unit.
func (u *unit) Commit(ctx context.Context) error {
	err := u.tx.Commit(ctx)
	refused, isRefused := errors.AsType[*dynamooutbox.RefusedError](err)
	switch {
	case err == nil:
		u.ob.Wake()
		return nil
	case isRefused && aws.ToString(refused.Reasons[0].Code) == "ConditionalCheckFailed":
		return fmt.Errorf("%w: %w", driver.ErrDuplicate, err)
	case errors.Is(err, outbox.ErrCommitUnknown):
		return err
	case errors.Is(err, outbox.ErrNotInTransaction): // the handler has ended it
		return fmt.Errorf("%w: %w: %w", driver.ErrNotCommitted, driver.ErrRollbackOnly, err)
	default:
		return fmt.Errorf("%w: %w", driver.ErrNotCommitted, err)
	}
}

// Rollback implements driver.Unit.
func (u *unit) Rollback(context.Context) error {
	u.tx.Rollback()
	return nil
}
