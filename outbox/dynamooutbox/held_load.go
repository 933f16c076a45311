package dynamooutbox

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// heldCache are the held and dead records of a group at a version, without their payloads. Every
// write of them makes a new version, conditional on the old one: so writes are serialised, and a
// cached state that a write succeeds with was current.
type heldCache struct {
	group   string
	version string
	rows    *heldqueue.Memory // nil: not loaded
}

// attrVersion is the version of a group's held records, on the item with the number 0.
const attrVersion = "rv"

// refresh loads the records unless the cached ones are current.
func (c *heldCache) refresh(ctx context.Context, o *Outbox) error {
	for {
		version, err := o.heldVersion(ctx, c.group)
		if err != nil || c.rows != nil && c.version == version {
			return err
		}
		c.rows, c.version = heldqueue.NewMemory(c.group, clock, &heldqueue.AuditLog{}), version
		if err := o.loadHeld(ctx, c.group, c.rows); err != nil {
			c.rows = nil
			return err
		} // and check again: it may have changed in the meantime
	}
}

// clock returns the current time, with the precision with which rows are stored.
func clock() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func (o *Outbox) heldVersion(ctx context.Context, group string) (string, error) {
	i, err := o.get(ctx, at(heldPartition(group), 0))
	return textOf(i, attrVersion), err
}

// bareRecord are the attributes of a held record without its payload and headers.
const bareRecord = "sk, i, t, k, y, c, o, st, nx, #at, er, re, si, #by"

func (o *Outbox) loadHeld(ctx context.Context, group string, rows *heldqueue.Memory) error {
	in := &dynamodb.QueryInput{
		TableName: &o.cfg.Table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk AND sk > :zero"),
		ExpressionAttributeValues: item{":pk": text(heldPartition(group)), ":zero": number(0)},
		ProjectionExpression:      aws.String(bareRecord),
		ExpressionAttributeNames:  map[string]string{"#at": attrAttempts, "#by": attrBytes},
	}
	for pages := dynamodb.NewQueryPaginator(o.db, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("leat: read held records: %w", err)
		}
		for _, i := range page.Items {
			r := decode(i)
			if err := rows.Insert(ctx, []heldqueue.Row{decodeRow(i, &r)}, []*outbox.Record{&r}); err != nil {
				return err
			}
		}
	}
	return nil
}
