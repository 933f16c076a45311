package dynamooutbox

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox/admin"
)

// mostBacklog bounds what is counted per bucket.
const mostBacklog = 1000

// Stats implements admin.Outbox.
func (o operator) Stats(ctx context.Context) (admin.Stats, error) {
	var stats admin.Stats
	l, err := o.readLease(ctx)
	if err != nil {
		return stats, err
	}
	slot := admin.SlotStats{Owner: l.owner, Epoch: l.epoch, LeaseLeft: max(0, o.seen.left(l))}
	if _, err := o.buckets(ctx); err != nil {
		return stats, err
	}
	for b := range maxBuckets { // every bucket that can exist, as relays do
		count, oldest, last, err := o.backlog(ctx, b)
		if err != nil {
			return stats, err
		}
		slot.Backlog += count
		stats.LastSeq = max(stats.LastSeq, last)
		if count > 0 {
			slot.Lag = max(slot.Lag, time.Since(oldest))
		}
	}
	if l.group == "" {
		return stats, nil
	}
	held := heldCache{group: l.group}
	if err := held.refresh(ctx, o.Outbox); err != nil {
		return stats, err
	}
	group := held.rows.Stats()
	group.Slots = []admin.SlotStats{slot}
	if group.Out, err = o.outages(ctx, l, held.rows.Retrying); err != nil {
		return stats, err
	}
	stats.Groups = []admin.GroupStats{group}
	return stats, nil
}

// backlog counts the messages of a bucket.
func (o *Outbox) backlog(ctx context.Context, b int) (count int64, oldest time.Time, last int64, err error) {
	in := &dynamodb.QueryInput{
		TableName: &o.cfg.Table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(mostBacklog),
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: item{":pk": text(messagesOf(b))}, ProjectionExpression: aws.String("sk, c"),
	}
	for pages := dynamodb.NewQueryPaginator(o.db, in); pages.HasMorePages() && count < mostBacklog; {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, oldest, 0, fmt.Errorf("leat: count bucket %d: %w", b, err)
		}
		for _, i := range page.Items {
			if created := time.UnixMicro(numberOf(i, attrCreated)); count == 0 || created.Before(oldest) {
				oldest = created
			}
			last = max(last, numberOf(i, sorting))
			count++
		}
	}
	return count, oldest, last, nil
}

// Groups implements admin.Outbox.
func (o operator) Groups(ctx context.Context) ([]admin.Group, error) {
	l, err := o.readLease(ctx)
	if err != nil || l.group == "" {
		return nil, err
	}
	note, now, err := o.readPolicies(ctx)
	if err != nil {
		return nil, err
	}
	g := admin.Group{Name: l.group, Slots: 1, Policies: basis.ParsePolicies(note).Alive("", now).Texts()}
	if o.seen.left(l) > 0 {
		g.Leases, g.Relays = 1, 1
	}
	return []admin.Group{g}, nil
}

// Members implements admin.Outbox.
func (o operator) Members(ctx context.Context, group string) ([]admin.Member, error) {
	l, err := o.readLease(ctx)
	if err != nil {
		return nil, err
	}
	if l.group == "" || l.group != group {
		return nil, fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, group)
	}
	left := o.seen.left(l)
	if left <= 0 {
		return nil, nil
	}
	return []admin.Member{{Name: l.owner, Slots: []int{0}, Until: time.Now().UTC().Add(left)}}, nil
}
