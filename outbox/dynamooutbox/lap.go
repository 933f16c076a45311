package dynamooutbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// lap is one pass through the buckets, by number. Messages that commit behind the cursor during
// the pass are read in the next one. A lap ends although messages are added all the time: a
// bucket is done at the first number that was drawn after the lap started to read.
//
// The first lap and one lap per minute go through all possible buckets: a producer may still use
// the number of buckets of an earlier table of the same name. Once something was found there,
// every lap does.
type lap struct {
	s       *session
	bound   int64     // 0 until the lap reads
	count   int       // number of buckets
	wide    time.Time // when a lap last went through all possible buckets
	buckets [maxBuckets]bucket
	sent    map[driver.Key]int64 // the last number of a key that this session has returned
	stopped map[driver.Key]bool  // keys with a message in this lap that must wait for an earlier one
}

// bucket is how far the lap has come in one bucket.
type bucket struct {
	after int64
	ready []item // read and not returned yet
	done  bool
}

// mostSent bounds the number of keys that are remembered. Otherwise a message is looked up.
const mostSent = 100_000

func newLap(s *session, buckets int) *lap {
	l := &lap{s: s, count: buckets, sent: make(map[driver.Key]int64)}
	l.begin()
	return l
}

func (l *lap) begin() {
	l.bound, l.stopped = 0, make(map[driver.Key]bool)
	clear(l.buckets[:])
	if len(l.sent) > mostSent {
		clear(l.sent)
	}
}

// next returns the next messages of the lap, ascending; none at its end.
func (l *lap) next(ctx context.Context, limit int) ([]outbox.Record, error) {
	var page []outbox.Record
	for len(page) < limit {
		if err := l.fill(ctx, limit); err != nil {
			if len(page) > 0 {
				return page, nil // what was taken must be returned: others may follow it
			}
			return nil, err
		}
		first := -1
		for b := range l.buckets {
			if ready := l.buckets[b].ready; len(ready) > 0 &&
				(first < 0 || numberOf(ready[0], sorting) < numberOf(l.buckets[first].ready[0], sorting)) {
				first = b
			}
		}
		if first < 0 {
			return page, nil
		}
		page = append(page, decode(l.buckets[first].ready[0]))
		l.buckets[first].ready = l.buckets[first].ready[1:]
	}
	return page, nil
}

// fill reads on, concurrently, in the buckets that have nothing left. If one fails, nothing has
// changed except that others are further ahead.
func (l *lap) fill(ctx context.Context, limit int) error {
	if l.bound == 0 {
		l.bound = l.s.ob.numbers.bound()
		if now := time.Now(); now.Sub(l.wide) >= l.s.ob.recount {
			l.wide = now
		} else {
			for b := l.count; b < maxBuckets; b++ {
				l.buckets[b].done = true
			}
		}
	}
	for {
		var group sync.WaitGroup
		errs := make([]error, len(l.buckets))
		read := make([][]item, len(l.buckets))
		after := make([]bucket, len(l.buckets))
		dry := 0
		for b := range l.buckets {
			if l.buckets[b].done || len(l.buckets[b].ready) > 0 {
				continue
			}
			dry++
			group.Go(func() { read[b], after[b], errs[b] = l.query(ctx, b, limit) })
		}
		if dry == 0 {
			return nil
		}
		group.Wait()
		for b := range l.buckets {
			if errs[b] != nil {
				return errs[b]
			}
		}
		ready, err := l.inOrder(ctx, read)
		if err != nil {
			return err
		}
		for b := range l.buckets {
			if l.buckets[b].done || len(l.buckets[b].ready) > 0 {
				continue
			}
			if len(read[b]) > 0 {
				l.stray(b)
			}
			l.buckets[b] = after[b]
			l.buckets[b].ready = ready[b]
		}
	}
}

// stray notes that a bucket beyond the current number has messages, or that another message waits
// for one there.
func (l *lap) stray(b int) {
	if b >= l.count {
		l.count = maxBuckets
	}
}

// query reads from a bucket, and returns how far it got.
func (l *lap) query(ctx context.Context, b, limit int) ([]item, bucket, error) {
	out, err := l.s.ob.db.Query(ctx, &dynamodb.QueryInput{
		TableName: &l.s.ob.cfg.Table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(min(limit, 1000))), //nolint:gosec // bounded
		KeyConditionExpression:    aws.String("pk = :pk AND sk > :after"),
		ExpressionAttributeValues: item{":pk": text(messagesOf(b)), ":after": number(l.buckets[b].after)},
	})
	if err != nil {
		return nil, bucket{}, fmt.Errorf("leat: read bucket %d: %w", b, err)
	}
	next := bucket{after: numberOf(out.LastEvaluatedKey, sorting), done: out.LastEvaluatedKey == nil}
	next.done = next.done || next.after > l.bound
	return out.Items, next, nil
}
