package dynamooutbox

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// built are the items of messages: one for each of them, then one for each key.
type built struct {
	items []types.TransactWriteItem
	msgs  int
	keys  []driver.Key
	last  map[driver.Key]int64 // the numbers that the keys will get
}

// keysOf returns the keys of messages, each once, in their order.
func keysOf(msgs []outbox.Message) []driver.Key {
	var keys []driver.Key
	seen := make(map[driver.Key]bool)
	for i := range msgs {
		if k := keyOf(&msgs[i]); k.Key != "" && !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	return keys
}

// build numbers the messages. Each message of a key has the number of the one before it, and the
// counter of the key moves from the number that we have seen to that of the last message.
func (o *Outbox) build(ctx context.Context, msgs []outbox.Message) (built, error) {
	b := built{msgs: len(msgs), keys: keysOf(msgs), last: make(map[driver.Key]int64)}
	if len(msgs) == 0 {
		return b, nil
	}
	buckets, err := o.buckets(ctx)
	if err != nil {
		return b, err
	}
	before, err := o.counters.load(ctx, o, b.keys)
	if err != nil {
		return b, err
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	for i := range msgs {
		m := &msgs[i]
		key := keyOf(m)
		previous := before[key]
		if n, ok := b.last[key]; ok {
			previous = n
		}
		r := outbox.Record{Message: *m, Seq: o.numbers.next(bucketFor(m, buckets), previous), CreatedAt: now}
		put := encode(messageAt(r.Seq), &r)
		if key.Key != "" {
			put[attrPrevious] = number(previous)
			b.last[key] = r.Seq
		}
		b.items = append(b.items, types.TransactWriteItem{Put: &types.Put{
			TableName: &o.cfg.Table, Item: put, ConditionExpression: aws.String("attribute_not_exists(pk)"),
		}})
	}
	for _, key := range b.keys {
		b.items = append(b.items, o.counterUpdate(key, before[key], b.last[key]))
	}
	return b, nil
}

// learn takes over the counters that differed from what we expected. It returns false if the
// transaction was refused for another reason, which trying again does not fix.
func (b *built) learn(c *counters, reasons []types.CancellationReason) bool {
	for i, r := range reasons {
		switch {
		case !conditionFailed(r):
			if classifyReasons([]types.CancellationReason{r}) == outcomeCancelled {
				return false
			}
		case i >= b.msgs:
			c.keep(map[driver.Key]int64{b.keys[i-b.msgs]: numberOf(r.Item, attrCounter)})
		}
	}
	return true
}

func pause(ctx context.Context, try int) error {
	return wait.For(ctx, pauseAfter(try))
}
