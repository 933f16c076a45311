package dynamodedupe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/outbox"
)

// Setup makes the table unless it is there, with on-demand capacity, and has DynamoDB delete
// what is forgotten. It can be called again, and at once by many.
//
// A table that was made by other means has the partition key pk (B), no sort key, and deletes
// by the attribute ttl. One with other keys is refused with outbox.ErrInvalidConfig.
func (s *Store) Setup(ctx context.Context) error {
	describe := &dynamodb.DescribeTableInput{TableName: &s.cfg.Table}
	there, err := s.db.DescribeTable(ctx, describe)
	if err == nil {
		return s.check(there.Table)
	}
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); !missing {
		return fmt.Errorf("leat: look for table %s: %w", s.cfg.Table, err)
	}
	_, err = s.db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &s.cfg.Table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String(attrKey), AttributeType: types.ScalarAttributeTypeB}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String(attrKey), KeyType: types.KeyTypeHash}},
	})
	if _, exists := errors.AsType[*types.ResourceInUseException](err); err != nil && !exists {
		return fmt.Errorf("leat: create table %s: %w", s.cfg.Table, err)
	}
	made := err == nil
	err = dynamodb.NewTableExistsWaiter(s.db, func(w *dynamodb.TableExistsWaiterOptions) {
		w.MinDelay, w.MaxDelay = 50*time.Millisecond, 5*time.Second
	}).Wait(ctx, describe, 5*time.Minute)
	if err != nil || !made {
		return errors.Join(err, ctx.Err())
	}
	_, err = s.db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               &s.cfg.Table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(attrExpires), Enabled: aws.Bool(true)},
	})
	if err != nil {
		return fmt.Errorf("leat: have table %s delete what is forgotten: %w", s.cfg.Table, err)
	}
	return nil
}

// check returns an error if the keys of a table are not those that a Store needs.
func (s *Store) check(table *types.TableDescription) error {
	if len(table.KeySchema) == 1 && aws.ToString(table.KeySchema[0].AttributeName) == attrKey {
		for _, a := range table.AttributeDefinitions {
			if aws.ToString(a.AttributeName) == attrKey && a.AttributeType == types.ScalarAttributeTypeB {
				return nil
			}
		}
	}
	return outbox.ConfigError("Table", s.cfg.Table, "must have the partition key pk (B) and no sort key")
}
