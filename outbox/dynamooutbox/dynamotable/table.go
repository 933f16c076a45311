// Package dynamotable creates the tables of all stores of leat in DynamoDB. It serves leat's own
// modules: its names may change in any version.
//
// Stability: young, see docs/versions.md.
package dynamotable

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

// Key is a column of a table's key.
type Key struct {
	Name string
	Type types.ScalarAttributeType
}

// String returns the key as an operator would write it, such as "pk (S)".
func (k Key) String() string { return fmt.Sprintf("%s (%s)", k.Name, k.Type) }

// Table describes the table of a store.
type Table struct {
	// Name is the name or the ARN.
	Name string
	// Partition is the partition key, Sort the sort key. A Sort without a Name means that there
	// is none.
	Partition, Sort Key
	// Expires is the attribute by which DynamoDB deletes items, in seconds since 1970. Empty
	// if it deletes none.
	Expires string
}

func (t Table) keys() []Key {
	if t.Sort.Name == "" {
		return []Key{t.Partition}
	}
	return []Key{t.Partition, t.Sort}
}

// Setup creates the table unless it exists, with on-demand capacity, and waits for it. A table
// with other keys is refused with outbox.ErrInvalidConfig. Several processes may call it at once.
func (t Table) Setup(ctx context.Context, db *dynamodb.Client) error {
	describe := &dynamodb.DescribeTableInput{TableName: &t.Name}
	there, err := db.DescribeTable(ctx, describe)
	if err == nil {
		return t.check(there.Table)
	}
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); !missing {
		return fmt.Errorf("leat: look for table %s: %w", t.Name, err)
	}
	_, err = db.CreateTable(ctx, t.request())
	_, exists := errors.AsType[*types.ResourceInUseException](err)
	if err != nil && !exists {
		return fmt.Errorf("leat: create table %s: %w", t.Name, err)
	}
	err = dynamodb.NewTableExistsWaiter(db, func(w *dynamodb.TableExistsWaiterOptions) {
		w.MinDelay, w.MaxDelay = 50*time.Millisecond, 5*time.Second
	}).Wait(ctx, describe, 5*time.Minute)
	if err != nil {
		return fmt.Errorf("leat: wait for table %s: %w", t.Name, err)
	}
	if t.Expires == "" || exists {
		return nil
	}
	_, err = db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               &t.Name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &t.Expires, Enabled: aws.Bool(true)},
	})
	if err != nil {
		return fmt.Errorf("leat: have table %s delete what has expired: %w", t.Name, err)
	}
	return nil
}

func (t Table) request() *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{TableName: &t.Name, BillingMode: types.BillingModePayPerRequest}
	for i, k := range t.keys() {
		kind := types.KeyTypeHash
		if i > 0 {
			kind = types.KeyTypeRange
		}
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(k.Name), AttributeType: k.Type})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: aws.String(k.Name), KeyType: kind})
	}
	return in
}

// check returns an error if a table has other keys.
func (t Table) check(table *types.TableDescription) error {
	kinds := make(map[string]types.ScalarAttributeType)
	for _, a := range table.AttributeDefinitions {
		kinds[aws.ToString(a.AttributeName)] = a.AttributeType
	}
	keys := make([]Key, 0, len(table.KeySchema)) // the partition key comes first
	for _, k := range table.KeySchema {
		name := aws.ToString(k.AttributeName)
		keys = append(keys, Key{name, kinds[name]})
	}
	if slices.Equal(keys, t.keys()) {
		return nil
	}
	return outbox.ConfigError("Table", t.Name, "must have "+describe(t.keys())+", and has "+describe(keys))
}

func describe(keys []Key) string {
	var all []string
	for i, k := range keys {
		all = append(all, [...]string{"the partition key ", "the sort key "}[min(i, 1)]+k.String())
	}
	if len(all) == 1 {
		all = append(all, "no sort key")
	}
	return strings.Join(all, " and ")
}
