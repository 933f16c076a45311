package dynamooutbox

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// errStale is returned if another writer has changed held records of the group in the meantime.
var errStale = errors.New("leat: held records have changed meanwhile")

// change runs work on the held records of the group and writes its changes, with the items of
// extra. If the records have changed in the meantime, it runs work again. A fence is a condition
// on the lease, nil for operators.
//
// Changes that do not fit into one transaction are written in several, in the order of
// heldTx.writes, with extra at the end: a message stays pending for as long as its row may be
// missing.
func (c *heldCache) change(
	ctx context.Context, o *Outbox, fence *types.TransactWriteItem, extra []types.TransactWriteItem, work func(tx heldqueue.Tx) error,
) error {
	for try := 0; ; try++ {
		if err := c.refresh(ctx, o); err != nil {
			return err
		}
		tx := c.tx(o)
		if err := work(tx); err != nil {
			c.rows = nil // it has seen a part of the work
			return err
		}
		err := c.write(ctx, o, fence, append(tx.writes(), extra...))
		if err == nil {
			return nil
		}
		c.rows = nil
		if !errors.Is(err, errStale) {
			return err
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// write writes items in transactions. Each makes a new version.
func (c *heldCache) write(ctx context.Context, o *Outbox, fence *types.TransactWriteItem, items []types.TransactWriteItem) error {
	for len(items) > 0 {
		next, err := ids.New()
		if err != nil {
			return err
		}
		part := []types.TransactWriteItem{o.versionUpdate(c.group, c.version, next)}
		if fence != nil {
			part = append(part, *fence)
		}
		n := fitting(items, maxItems-len(part))
		err = o.transact(ctx, append(part, items[:n]...))
		if refused, ok := errors.AsType[*cancelled](err); ok {
			return whyCancelled(refused, fence != nil)
		}
		if err != nil {
			return err
		}
		c.version, items = next, items[n:]
	}
	return nil
}

// whyCancelled: only the version and the fence have conditions. The writer that holds both is the
// only one that writes held records or removes messages.
func whyCancelled(c *cancelled, fenced bool) error {
	failed := func(i int) bool { return i < len(c.reasons) && conditionFailed(c.reasons[i]) }
	switch {
	case fenced && failed(1):
		return driver.ErrLeaseLost
	case failed(0):
		return errStale
	}
	return c
}

func (o *Outbox) versionUpdate(group, from, to string) types.TransactWriteItem {
	u := &types.Update{
		TableName: &o.cfg.Table, Key: at(heldPartition(group), 0),
		UpdateExpression: aws.String("SET rv = :to"), ConditionExpression: aws.String("attribute_not_exists(rv)"),
		ExpressionAttributeValues: item{":to": text(to)},
	}
	if from != "" {
		u.ConditionExpression = aws.String("rv = :from")
		u.ExpressionAttributeValues[":from"] = text(from)
	}
	return types.TransactWriteItem{Update: u}
}

// fitting returns how many of items fit into one transaction, which has room for up to most items.
func fitting(items []types.TransactWriteItem, most int) int {
	n, bytes := 0, 0
	for n < len(items) && n < most {
		bytes += 4_000
		if put := items[n].Put; put != nil {
			bytes += bytesIn(put.Item)
		} else if update := items[n].Update; update != nil {
			bytes += bytesIn(update.ExpressionAttributeValues)
		}
		if n > 0 && bytes > maxTxBytes {
			break
		}
		n++
	}
	return n
}

// bytesIn is the approximate size of an item.
func bytesIn(i item) int {
	n := 0
	for name, value := range i {
		n += len(name) + 8
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			n += len(v.Value)
		case *types.AttributeValueMemberB:
			n += len(v.Value)
		case *types.AttributeValueMemberM:
			n += bytesIn(v.Value)
		}
	}
	return n
}
