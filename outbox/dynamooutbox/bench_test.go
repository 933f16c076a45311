package dynamooutbox_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

const (
	benchWriters = 8
	benchEach    = 25 // transactions of a writer in a turn
	benchKeys    = 1000
)

// benchTable is a table, and what writes a transaction to it: an order, and beside it a message or what
// stands for one.
type benchTable struct {
	client *dynamodb.Client
	ob     *dynamooutbox.Outbox
	table  string
	n      atomic.Int64
	body   []byte
}

// order is the item of the business.
func (t *benchTable) order(n int64) types.TransactWriteItem {
	return t.put("ORDER#"+strconv.FormatInt(n, 10), nil)
}

func (t *benchTable) put(pk string, body []byte) types.TransactWriteItem {
	row := map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberN{Value: "0"},
		"c": &types.AttributeValueMemberN{Value: "1700000000000000"}, "t": &types.AttributeValueMemberS{Value: "orders"},
	}
	if body != nil {
		row["p"] = &types.AttributeValueMemberB{Value: body}
	}
	return types.TransactWriteItem{Put: &types.Put{TableName: &t.table, Item: row}}
}

// bare writes an order and an item of a message's size in a TransactWriteItems.
func (t *benchTable) bare(ctx context.Context) error {
	n := t.n.Add(1)
	id, err := outbox.NewID()
	if err != nil {
		return err
	}
	_, err = t.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{t.order(n), t.put("EVENT#"+id, t.body)}, ClientRequestToken: aws.String(id),
	})
	return err
}

// enqueue writes an order and a message.
func (t *benchTable) enqueue(keyed bool) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		n := t.n.Add(1)
		m := outbox.Message{Topic: "orders", Payload: t.body}
		if keyed {
			m.Key = "customer-" + strconv.FormatInt(n%benchKeys, 10)
		}
		return t.ob.InTx(ctx, func(ctx context.Context, tx *dynamooutbox.Tx) error {
			if err := tx.Add(t.order(n)); err != nil {
				return err
			}
			return t.ob.Enqueue(ctx, tx, m)
		})
	}
}

// BenchmarkInTx commits an order with a message, and an order with another item by the bare client, in turns,
// with 8 writers. Metric x-bare is the rate of the outbox by that of the client.
func BenchmarkInTx(b *testing.B) {
	for name, keyed := range map[string]bool{"keyed": true, "unkeyed": false} {
		b.Run(name, func(b *testing.B) {
			env := testenv.Dynamo(b)
			client, closeIdle := connect(env.URL)
			b.Cleanup(closeIdle)
			t := &benchTable{client: client, table: env.Prefix + "outbox", body: make([]byte, 512)}
			var err error
			t.ob, err = dynamooutbox.New(client, dynamooutbox.Config{Table: t.table})
			require.NoError(b, err)
			require.NoError(b, t.ob.Setup(b.Context(), 0))
			ours, theirs := t.enqueue(keyed), t.bare
			turn(b, ours) // neither begins cold
			turn(b, theirs)
			var took, tookBare time.Duration
			for b.Loop() {
				took += turn(b, ours)
				tookBare += turn(b, theirs)
			}
			b.ReportMetric(float64(tookBare)/float64(took), "x-bare")
			b.ReportMetric(float64(benchWriters*benchEach*b.N)/took.Seconds(), "transactions/s")
		})
	}
}

// turn has all writers commit.
func turn(b *testing.B, commit func(ctx context.Context) error) time.Duration {
	b.Helper()
	began := time.Now()
	var writers sync.WaitGroup
	for range benchWriters {
		writers.Go(func() {
			for range benchEach {
				if err := commit(b.Context()); err != nil {
					b.Error(err)
				}
			}
		})
	}
	writers.Wait()
	return time.Since(began)
}
