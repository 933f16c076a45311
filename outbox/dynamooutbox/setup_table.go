package dynamooutbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/outbox"
)

func (o *Outbox) createTable(ctx context.Context) error {
	describe := &dynamodb.DescribeTableInput{TableName: &o.cfg.Table}
	there, err := o.db.DescribeTable(ctx, describe)
	if err == nil {
		return o.checkKeys(there.Table)
	}
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); !missing {
		return fmt.Errorf("leat: look for table %s: %w", o.cfg.Table, err)
	}
	_, err = o.db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &o.cfg.Table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(partition), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(sorting), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(partition), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(sorting), KeyType: types.KeyTypeRange},
		},
	})
	if _, exists := errors.AsType[*types.ResourceInUseException](err); err != nil && !exists {
		return fmt.Errorf("leat: create table %s: %w", o.cfg.Table, err)
	}
	err = dynamodb.NewTableExistsWaiter(o.db, func(w *dynamodb.TableExistsWaiterOptions) {
		w.MinDelay, w.MaxDelay = 50*time.Millisecond, 5*time.Second
	}).Wait(ctx, describe, 5*time.Minute)
	if err != nil {
		return fmt.Errorf("leat: wait for table %s: %w", o.cfg.Table, err)
	}
	return nil
}

// checkKeys returns an error if the keys of a table are not those that an outbox needs.
func (o *Outbox) checkKeys(table *types.TableDescription) error {
	kinds := make(map[string]types.ScalarAttributeType)
	for _, a := range table.AttributeDefinitions {
		kinds[aws.ToString(a.AttributeName)] = a.AttributeType
	}
	keys := make([]string, 0, len(table.KeySchema)) // the partition key is the first
	for _, k := range table.KeySchema {
		name := aws.ToString(k.AttributeName)
		keys = append(keys, fmt.Sprintf("%s (%s)", name, kinds[name]))
	}
	if !slices.Equal(keys, []string{"pk (S)", "sk (N)"}) {
		return outbox.ConfigError("Table", o.cfg.Table,
			"must have the partition key pk (S) and the sort key sk (N), and has "+strings.Join(keys, ", "))
	}
	return nil
}
