package dynamooutbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.PolicyKeeper = (*source)(nil)

// KeepPolicies implements driver.PolicyKeeper, with one item.
func (s *source) KeepPolicies(ctx context.Context, change func(note string, now time.Time) string) (bool, error) {
	for {
		note, now, err := s.ob.readPolicies(ctx)
		if err != nil {
			return false, err
		}
		next := change(note, now)
		if next == note {
			return true, nil
		}
		put := at("P", 0)
		put["no"] = text(next)
		_, err = s.ob.db.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &s.ob.cfg.Table, Item: put,
			ConditionExpression:       aws.String("attribute_not_exists(pk) OR #no = :before"),
			ExpressionAttributeNames:  map[string]string{"#no": "no"},
			ExpressionAttributeValues: item{":before": text(note)},
		})
		if _, faster := errors.AsType[*types.ConditionalCheckFailedException](err); faster {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("leat: write the policies of relays: %w", err)
		}
		return true, nil
	}
}

// readPolicies returns the relays' note, and the clock of DynamoDB.
func (o *Outbox) readPolicies(ctx context.Context) (note string, now time.Time, err error) {
	out, err := o.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &o.cfg.Table, Key: at("P", 0), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return "", now, fmt.Errorf("leat: read the policies of relays: %w", err)
	}
	now, ok := middleware.GetServerTime(out.ResultMetadata)
	if !ok {
		now = time.Now()
	}
	return textOf(out.Item, "no"), now, nil
}
