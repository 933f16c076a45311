package dynamooutbox

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/outbox/admin"
)

// mostDetails bounds the details of an entry, in bytes. An entry with larger ones is written
// without them.
const mostDetails = 300_000

// auditPut is the item of an entry, under a number of its own.
func (o *Outbox) auditPut(group string, e *admin.AuditEntry) types.TransactWriteItem {
	i := at("A", o.numbers.next(0, 0))
	i["tm"], i["ac"], i["by"], i["re"], i["g"] = number(clock().UnixMicro()), text(e.Action), text(e.Actor), text(e.Reason), text(group)
	i["q"], i[attrID], i[attrTopic], i[attrKey] = number(e.Seq), text(e.ID), text(e.Topic), text(e.Key)
	if len(e.Details) > 0 && len(e.Details) <= mostDetails {
		i["d"] = bytes(e.Details)
	}
	return types.TransactWriteItem{Put: &types.Put{TableName: &o.cfg.Table, Item: i}}
}

func auditOf(i item) admin.AuditEntry {
	return admin.AuditEntry{
		No: numberOf(i, sorting), At: time.UnixMicro(numberOf(i, "tm")).UTC(), Action: textOf(i, "ac"), Actor: textOf(i, "by"),
		Reason: textOf(i, "re"), Group: textOf(i, "g"), Seq: numberOf(i, "q"), ID: textOf(i, attrID), Topic: textOf(i, attrTopic),
		Key: textOf(i, attrKey), Details: bytesOf(i, "d"),
	}
}

// Audit implements admin.Outbox.
func (o operator) Audit(ctx context.Context, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	err := admin.Complete(&q)
	if err != nil {
		return nil, err
	}
	from, to := q.After+1, int64(math.MaxInt64)
	if q.Newest {
		from = 0
		if q.After > 0 {
			to = q.After - 1
		}
	}
	in := &dynamodb.QueryInput{
		TableName: &o.cfg.Table, ConsistentRead: aws.Bool(true), ScanIndexForward: aws.Bool(!q.Newest),
		KeyConditionExpression:    aws.String("pk = :pk AND sk BETWEEN :from AND :to"),
		ExpressionAttributeValues: item{":pk": text("A"), ":from": number(from), ":to": number(to)},
	}
	var found []admin.AuditEntry
	for pages := dynamodb.NewQueryPaginator(o.db, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("leat: read the audit: %w", err)
		}
		for _, i := range page.Items {
			if e := auditOf(i); selects(&q, &e) {
				found = append(found, e)
			}
			if len(found) == q.Limit {
				return found, nil
			}
		}
	}
	return found, nil
}

func selects(q *admin.AuditQuery, e *admin.AuditEntry) bool {
	like := func(want, have string) bool { return want == "" || want == have }
	return like(q.Group, e.Group) && like(q.Action, e.Action) && like(q.Topic, e.Topic) && like(q.Key, e.Key) &&
		like(q.ID, e.ID) && !e.At.Before(q.Since)
}
