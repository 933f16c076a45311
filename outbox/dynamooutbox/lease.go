package dynamooutbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox/driver"
)

// lease is the right to read. Each write of it has its own nonce: by the nonce a reader sees
// whether the holder is alive, and a writer whether the write was its own.
type lease struct {
	group, owner string // owner is empty if the lease was given up
	epoch        int64
	nonce        string
	ttl          time.Duration
	until        time.Time // by DynamoDB's clock, later rather than earlier
	server       time.Time // DynamoDB's clock when the lease was read, earlier rather than later
}

// serverGrain is the possible error of DynamoDB's clock: it has whole seconds, and each answer
// may come from another server.
const serverGrain = 2 * time.Second

func leaseOf(i item) lease {
	return lease{
		group: textOf(i, "g"), owner: textOf(i, "ow"), epoch: numberOf(i, "ep"), nonce: textOf(i, "rv"),
		ttl: time.Duration(numberOf(i, "tl")), until: time.UnixMilli(numberOf(i, "un")),
	}
}

func (o *Outbox) readLease(ctx context.Context) (lease, error) {
	out, err := o.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &o.cfg.Table, Key: at("L", 0), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return lease{}, fmt.Errorf("leat: read the lease: %w", err)
	}
	l := leaseOf(out.Item)
	if server, ok := middleware.GetServerTime(out.ResultMetadata); ok {
		l.server = server
	}
	return l, nil
}

// taken returns the lease after l, with a new owner.
func (l lease) taken(group string, ttl time.Duration) (lease, error) {
	id, err := ids.New()
	host, _ := os.Hostname() // for operators: without it they have only the id
	next := lease{group: group, owner: host + "/" + strconv.Itoa(os.Getpid()) + "/" + id, epoch: l.epoch + 1, server: l.server}
	return next.renewed(ttl), err
}

// renewed returns the lease with a new end and a new nonce.
func (l lease) renewed(ttl time.Duration) lease {
	l.ttl, l.nonce = ttl, strconv.FormatInt(time.Now().UnixNano(), 36)+"/"+l.owner
	if !l.server.IsZero() {
		l.until = l.server.Add(ttl + serverGrain)
	}
	return l
}

// writeLease writes next if the lease is still before, and returns the stored lease: next, even
// if the answer to an earlier try was lost, or what another process has written.
func (o *Outbox) writeLease(ctx context.Context, before, next lease) (lease, error) {
	put := at("L", 0)
	put["g"], put["ow"], put["ep"], put["rv"] = text(next.group), text(next.owner), number(next.epoch), text(next.nonce)
	put["tl"], put["un"] = number(int64(next.ttl)), number(next.until.UnixMilli())
	in := &dynamodb.PutItemInput{
		TableName: &o.cfg.Table, Item: put, ConditionExpression: aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if before.nonce != "" {
		in.ConditionExpression = aws.String("rv = :before")
		in.ExpressionAttributeValues = item{":before": text(before.nonce)}
	}
	_, err := o.db.PutItem(ctx, in)
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return leaseOf(failed.Item), nil
	}
	if err != nil {
		return lease{}, fmt.Errorf("leat: write the lease: %w", err)
	}
	return next, nil
}

// fence is the condition that a lease is still held, for transactions.
func (o *Outbox) fence(l lease) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &o.cfg.Table, Key: at("L", 0), ConditionExpression: aws.String("ow = :owner AND ep = :epoch"),
		ExpressionAttributeValues: item{":owner": text(l.owner), ":epoch": number(l.epoch)},
	}}
}

// observations are the times at which this process first saw a lease in its current form.
type observations struct {
	mu    sync.Mutex
	nonce string
	since time.Time
}

// note records that l has been seen in its current form since a time.
func (s *observations) note(l lease, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nonce, s.since = l.nonce, since
}

// left returns how long the lease is still held if it is not renewed. It is free once this
// process has seen it unchanged for its ttl, by its own clock, or once DynamoDB's clock is past
// its end. The latter is for processes that do not run long enough to observe it.
func (s *observations) left(l lease) time.Duration {
	if l.owner == "" || !l.server.IsZero() && l.server.After(l.until) {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nonce != l.nonce {
		s.nonce, s.since = l.nonce, time.Now()
	}
	return min(l.ttl-time.Since(s.since), l.ttl)
}

var _ driver.Session = (*session)(nil)
