package dynamooutbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/outbox/driver"
)

// inOrder returns the messages, of those that were read in the buckets, that may be returned now.
//
// A Query may see the message of a transaction and not yet that of an earlier one. So a message
// of a key is returned only if the one before it, which it names, was returned by this session or
// is gone. Otherwise it and the messages after it wait for the next lap. The one before it may
// still come in this lap, from another bucket.
func (l *lap) inOrder(ctx context.Context, read [][]item) ([][]item, error) {
	gone, err := l.gone(ctx, l.doubtful(read))
	if err != nil {
		return nil, err
	}
	ready := make([][]item, len(read))
	for b, items := range read {
		for _, i := range items {
			if l.admit(i, gone) {
				ready[b] = append(ready[b], i)
			}
		}
	}
	return ready, nil
}

func keyOfItem(i item) driver.Key {
	return driver.Key{Topic: textOf(i, attrTopic), Key: textOf(i, attrKey)}
}

func (l *lap) admit(i item, gone map[int64]bool) bool {
	seq, key, previous := numberOf(i, sorting), keyOfItem(i), numberOf(i, attrPrevious)
	if l.s.isUnsettled(seq) {
		return false
	}
	if key.Key == "" {
		return true
	}
	if previous != 0 && l.sent[key] != previous && !gone[previous] {
		l.stopped[key] = true
		l.stray(bucketOf(previous))
		return false
	}
	l.sent[key] = seq
	return true
}

// doubtful returns the numbers of messages that others follow and that this session has not
// returned.
func (l *lap) doubtful(read [][]item) []int64 {
	var all []int64
	for _, items := range read {
		last := make(map[driver.Key]int64)
		for _, i := range items {
			key, previous := keyOfItem(i), numberOf(i, attrPrevious)
			if key.Key == "" {
				continue
			}
			if previous != 0 && last[key] != previous && l.sent[key] != previous {
				all = append(all, previous)
			}
			last[key] = numberOf(i, sorting)
		}
	}
	return all
}

// mostLarge is the number of messages that have at most 4 MB together, which a transaction may
// read. That limit counts whole items, whichever attributes are read. Most of the requested ones
// are gone, so more are tried first.
const mostLarge = 10

// gone returns those numbers whose messages do not exist and will not appear: in a transaction a
// read is refused while another transaction on the item is running.
func (l *lap) gone(ctx context.Context, seqs []int64) (map[int64]bool, error) {
	gone := make(map[int64]bool, len(seqs))
	for most := maxItems; len(seqs) > 0; {
		part := seqs[:min(len(seqs), most)]
		var gets []types.TransactGetItem
		for _, seq := range part {
			gets = append(gets, types.TransactGetItem{Get: &types.Get{
				TableName: &l.s.ob.cfg.Table, Key: messageAt(seq), ProjectionExpression: aws.String(sorting),
			}})
		}
		out, err := l.s.ob.db.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: gets})
		if c, ok := errors.AsType[*types.TransactionCanceledException](err); ok && classifyReasons(c.CancellationReasons) == outcomeBusy {
			seqs = seqs[len(part):]
			continue // not known yet: the keys wait
		}
		if tooLarge := err != nil && len(part) > mostLarge && classify(err) != outcomeUnknown; tooLarge {
			most = mostLarge
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("leat: look for earlier messages: %w", err)
		}
		seqs = seqs[len(part):]
		for i, r := range out.Responses {
			if len(r.Item) == 0 {
				gone[part[i]] = true
			}
		}
	}
	return gone, nil
}
