package dynamooutbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/dynamooutbox/dynamotable"
)

// defaultBuckets is the number of buckets that Setup uses for 0.
const defaultBuckets = 16

// Setup creates the table unless it exists, with on-demand capacity, and fixes the number of
// buckets, 1 to 64, for good; 0 means 16. Pending messages are spread over the buckets. Each
// bucket takes about 500 transactions a second, and costs an idle relay one request per poll.
// Setup can be called again. A number of buckets that differs from the first one is
// outbox.ErrInvalidConfig.
//
// A table that was created by other means needs the partition key pk (S) and the sort key sk (N).
// One with other keys is refused with outbox.ErrInvalidConfig, and nothing is written to it.
//
// If a table is deleted and created again, with any number of buckets, running processes notice
// within a minute, and what they enqueue until then is sent.
func (o *Outbox) Setup(ctx context.Context, buckets int) error {
	buckets = cmp.Or(buckets, defaultBuckets)
	if buckets < 1 || buckets > maxBuckets {
		return outbox.ConfigError("buckets", buckets, "must be 1 to 64")
	}
	table := dynamotable.Table{
		Name:      o.cfg.Table,
		Partition: dynamotable.Key{Name: partition, Type: types.ScalarAttributeTypeS},
		Sort:      dynamotable.Key{Name: sorting, Type: types.ScalarAttributeTypeN},
	}
	if err := table.Setup(ctx, o.db); err != nil {
		return err
	}
	put := at("B", 0)
	put[attrCounter] = number(int64(buckets))
	_, err := o.db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &o.cfg.Table, Item: put, ConditionExpression: aws.String("attribute_not_exists(pk)"),
	})
	if _, there := errors.AsType[*types.ConditionalCheckFailedException](err); err != nil && !there {
		return fmt.Errorf("leat: set up %s: %w", o.cfg.Table, err)
	}
	n, err := o.readBuckets(ctx)
	if err == nil && n != buckets {
		return outbox.ConfigError("buckets", buckets, fmt.Sprintf("the outbox in %s has %d for good", o.cfg.Table, n))
	}
	return err
}

// recount is how long a number of buckets is trusted: the table may have been created again, with
// another one.
const recount = time.Minute

// counted is the number of buckets as it was read.
type counted struct {
	n  int
	at time.Time
}

// buckets returns the number of buckets, at most a minute old or as DynamoDB reported it last, or
// outbox.ErrNotMigrated.
func (o *Outbox) buckets(ctx context.Context) (int, error) {
	known := o.count.Load()
	if known != nil && time.Since(known.at) < o.recount {
		return known.n, nil
	}
	n, err := o.readBuckets(ctx)
	if err != nil && known != nil && !errors.Is(err, outbox.ErrNotMigrated) && ctx.Err() == nil {
		return known.n, nil
	}
	return n, err
}

// readBuckets reads the number of buckets.
func (o *Outbox) readBuckets(ctx context.Context) (int, error) {
	began := time.Now()
	i, err := o.get(ctx, at("B", 0))
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		return 0, fmt.Errorf("%w: table %s does not exist: call Setup", outbox.ErrNotMigrated, o.cfg.Table)
	}
	if err != nil {
		return 0, err
	}
	n := numberOf(i, attrCounter)
	if n < 1 || n > maxBuckets {
		return 0, fmt.Errorf("%w: table %s has no number of buckets: call Setup", outbox.ErrNotMigrated, o.cfg.Table)
	}
	o.count.Store(&counted{n: int(n), at: began})
	return int(n), nil
}

// get reads an item, with a strongly consistent read; nil if there is none.
func (o *Outbox) get(ctx context.Context, key item) (item, error) {
	out, err := o.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &o.cfg.Table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, fmt.Errorf("leat: read an item: %w", err)
	}
	return out.Item, nil
}
