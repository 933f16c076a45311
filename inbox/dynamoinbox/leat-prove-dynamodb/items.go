package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/prover"
)

// item is a DynamoDB item. Those of the table shop have the keys pk and sk.
type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
func at(pk string, sk int64) item { return item{"pk": text(pk), "sk": number(sk)} }

func textOf(i item, name string) string {
	s, _ := i[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// numberOf returns a number; 0 if there is none, or if it is not an integer.
func numberOf(i item, name string) int64 {
	n, _ := i[name].(*types.AttributeValueMemberN)
	if n == nil {
		return 0
	}
	v, _ := strconv.ParseInt(n.Value, 10, 64)
	return v
}

// query reads a partition consistently, by pages of at most limit items; 0 leaves the size to the server. It
// goes on behind the last item of a page, as a relay does.
func query(ctx context.Context, db *dynamodb.Client, table *string, pk string, limit int32) (all []item, err error) {
	in := &dynamodb.QueryInput{
		TableName: table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk AND sk > :after"),
		ExpressionAttributeValues: item{":pk": text(pk), ":after": number(0)},
	}
	if limit > 0 {
		in.Limit = &limit
	}
	for {
		out, err := db.Query(ctx, in)
		if err != nil {
			return all, err
		}
		all = append(all, out.Items...)
		if out.LastEvaluatedKey == nil {
			return all, nil
		}
		in.ExpressionAttributeValues[":after"] = number(numberOf(out.LastEvaluatedKey, "sk"))
	}
}

// hand is a client of a probe, with connections of its own. Its methods end the probe if they fail, except
// attempt and transact.
type hand struct {
	t     *prover.Trial
	db    *dynamodb.Client
	table *string
}

// hand returns a client that lasts for the probe.
func (s *server) hand(t *prover.Trial) hand {
	var mine prover.Wires
	db, end := s.client(&mine)
	t.Later(end)
	return hand{t, db, s.table(shopTable)}
}

// hands returns n of them.
func (s *server) hands(t *prover.Trial, n int) []hand {
	all := make([]hand, n)
	for i := range all {
		all[i] = s.hand(t)
	}
	return all
}

// attempt puts an item if the condition holds. If it does not, it returns the item that is there.
func (h hand) attempt(put item, condition string, values item) (there item, won bool, err error) {
	_, err = h.db.PutItem(h.t.Context(), &dynamodb.PutItemInput{
		TableName: h.table, Item: put, ConditionExpression: &condition, ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return failed.Item, false, nil
	}
	return nil, err == nil, refused(err)
}

func (h hand) put(i item) {
	_, err := h.db.PutItem(h.t.Context(), &dynamodb.PutItemInput{TableName: h.table, Item: i})
	fail.If(refused(err))
}

// get reads an item consistently; nil if there is none.
func (h hand) get(key item) item {
	out, err := h.db.GetItem(h.t.Context(), &dynamodb.GetItemInput{TableName: h.table, Key: key, ConsistentRead: aws.Bool(true)})
	fail.If(refused(err))
	return out.Item
}

// write changes many items, by batches of as many as DynamoDB takes.
func (h hand) write(all []types.WriteRequest) {
	const batch = 25
	for len(all) > 0 {
		part := all[:min(batch, len(all))]
		all = all[len(part):]
		for len(part) > 0 {
			out, err := h.db.BatchWriteItem(h.t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*h.table: part}})
			fail.If(refused(err))
			if part = out.UnprocessedItems[*h.table]; len(part) > 0 {
				h.t.Pause(prover.Between)
			}
		}
	}
}

// transact sends a transaction, again if it meets another one. It returns the reasons if a condition fails.
func (h hand) transact(items ...types.TransactWriteItem) (reasons []types.CancellationReason, err error) {
	for {
		_, err = h.db.TransactWriteItems(h.t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: items})
		cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
		if !ok {
			return nil, refused(err)
		}
		if !busy(cancelled.CancellationReasons) {
			return cancelled.CancellationReasons, refused(err)
		}
		h.t.Pause(prover.Between)
	}
}

// busy reports whether a transaction was cancelled because of others, or for lack of capacity.
func busy(reasons []types.CancellationReason) (is bool) {
	for _, r := range reasons {
		switch aws.ToString(r.Code) {
		case "", "None":
		case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			is = true
		default:
			return false
		}
	}
	return is
}

// putOf is the put of an item, in a transaction.
func (h hand) putOf(i item) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{TableName: h.table, Item: i}}
}

// setOf sets the attribute v of an item, in a transaction.
func (h hand) setOf(key item, v int64) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: h.table, Key: key, UpdateExpression: aws.String("SET v = :v"), ExpressionAttributeValues: item{":v": number(v)},
	}}
}
