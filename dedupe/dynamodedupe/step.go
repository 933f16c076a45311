package dynamodedupe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/internal/records"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
)

// step is one atomic change of a record.
type step struct {
	name string
	key  dedupe.Key
	// lease is what the step grants, 0 if it grants none.
	lease time.Duration
	// change changes the record; now is a time that has certainly come. It may be called again,
	// with the record as another step has left it.
	change func(r *records.Record, now time.Time) (changed bool)
}

// run reads the item, applies the step and writes it, again until no other step was faster. It
// returns for how long the lease in the item that it read last was given.
func (s *Store) run(ctx context.Context, st step) (seen time.Duration, err error) {
	asked := time.Now()
	out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.cfg.Table, Key: keyOf(st.key), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return 0, describe(st.name, err)
	}
	now, err := clockOf(out.ResultMetadata, asked)
	if err != nil {
		return 0, describe(st.name, err)
	}
	before := out.Item
	if len(before) == 0 {
		before = nil
	}
	for {
		r, lease := recordOf(before)
		if !st.change(&r, now.earliest()) {
			return lease, nil
		}
		if st.lease > 0 {
			// The lease lasts until it is over by any reading of the clock.
			lease = st.lease
			r.LeaseUntil = r.LeaseUntil.Add(now.spread())
		}
		r.ForgetAt = r.ForgetAt.Add(now.spread())
		var done bool
		if before, done, err = s.write(ctx, st.key, before, &r, lease); err != nil {
			return 0, describe(st.name, err)
		}
		if done {
			return lease, nil
		}
	}
}

// write writes a record if the item is unchanged; otherwise it returns the item that exists instead.
func (s *Store) write(
	ctx context.Context, key dedupe.Key, before item, r *records.Record, lease time.Duration,
) (now item, done bool, err error) {
	revision, err := ids.New()
	if err != nil {
		return nil, false, err
	}
	in := &dynamodb.PutItemInput{
		TableName: &s.cfg.Table, Item: itemOf(key, r, lease, revision),
		ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if before != nil {
		in.ConditionExpression = aws.String("rv = :before")
		in.ExpressionAttributeValues = item{":before": before[attrRevision]}
	}
	_, err = s.db.PutItem(ctx, in)
	failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	switch {
	case err == nil:
		return nil, true, nil
	case !ok:
		return nil, false, err
	case len(failed.Item) == 0:
		return nil, false, ctx.Err() // it was deleted
	case revisionOf(failed.Item) == revision:
		return nil, true, nil // the SDK has retried: the answer to the first try was lost
	default:
		return failed.Item, false, ctx.Err()
	}
}

func describe(name string, err error) error {
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		err = fmt.Errorf("%w: call Setup: %w", outbox.ErrNotMigrated, err)
	}
	return fmt.Errorf("leat: dynamodb %s: %w", name, err)
}
