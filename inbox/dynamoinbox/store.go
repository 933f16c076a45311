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

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

// item is what DynamoDB stores: one for each message that was processed.
type item = map[string]types.AttributeValue

// Attributes of an item.
const (
	attrKey  = "pk" // the 16 bytes of the id as it is stored, and the consumer's name
	attrID   = "id" // the id, for operators
	attrDone = "at" // when it was processed, in microseconds since 1970
	// attrExpires is when DynamoDB may delete it, in seconds. Nothing else depends on it: a
	// message that is there was processed.
	attrExpires = "ttl"
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

var _ driver.Store = (*store)(nil)

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
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		return nil, 0, fmt.Errorf("%w: call Setup: %w", outbox.ErrNotMigrated, err)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("leat: dynamodb: look for a message: %w", err)
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
