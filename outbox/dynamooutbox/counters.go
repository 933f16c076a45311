package dynamooutbox

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/outbox/driver"
)

// attrCounter is the last number that was given to the key.
const attrCounter = "n"

// mostCounters bounds the counters that are remembered.
const mostCounters = 10_000

// counters remembers the counters of keys, so that a busy key need not be read. A counter may be
// out of date: then the condition of the transaction fails, and the answer has the current value.
type counters struct {
	mu   sync.Mutex
	last map[driver.Key]int64
}

func (c *counters) keep(last map[driver.Key]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || len(c.last) >= mostCounters {
		c.last = make(map[driver.Key]int64)
	}
	for key, n := range last {
		c.last[key] = max(n, c.last[key])
	}
}

func (c *counters) forget(last map[driver.Key]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range last {
		delete(c.last, key)
	}
}

// load returns the counters of keys, 0 for a new key.
func (c *counters) load(ctx context.Context, o *Outbox, keys []driver.Key) (map[driver.Key]int64, error) {
	found := make(map[driver.Key]int64, len(keys))
	var missing []item
	names := make(map[string]driver.Key)
	c.mu.Lock()
	for _, key := range keys {
		if n, ok := c.last[key]; ok {
			found[key] = n
			continue
		}
		i := counterAt(key)
		missing = append(missing, i)
		names[textOf(i, partition)] = key
	}
	c.mu.Unlock()
	items, err := o.getAll(ctx, missing)
	for _, i := range items {
		found[names[textOf(i, partition)]] = numberOf(i, attrCounter)
	}
	return found, err
}

// getAll reads items, with strongly consistent reads. Missing items are left out.
func (o *Outbox) getAll(ctx context.Context, keys []item) ([]item, error) {
	var found []item
	for try := 0; len(keys) > 0; try++ {
		n := min(len(keys), 100)
		out, err := o.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			o.cfg.Table: {Keys: keys[:n], ConsistentRead: aws.Bool(true)},
		}})
		if err != nil {
			return nil, fmt.Errorf("leat: read items: %w", err)
		}
		left := keys[n:]
		for _, items := range out.Responses {
			found = append(found, items...)
		}
		for _, rest := range out.UnprocessedKeys {
			left = append(slices.Clip(left), rest.Keys...)
			if err := pause(ctx, try); err != nil {
				return nil, err
			}
		}
		keys = left
	}
	return found, nil
}

// counterUpdate moves the counter of a key, if it is still what we have seen.
func (o *Outbox) counterUpdate(key driver.Key, from, to int64) types.TransactWriteItem {
	u := &types.Update{
		TableName: &o.cfg.Table, Key: counterAt(key),
		UpdateExpression: aws.String("SET n = :to"), ConditionExpression: aws.String("attribute_not_exists(n)"),
		ExpressionAttributeValues:           item{":to": number(to)},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if from != 0 {
		u.ConditionExpression = aws.String("n = :from")
		u.ExpressionAttributeValues[":from"] = number(from)
	}
	return types.TransactWriteItem{Update: u}
}
