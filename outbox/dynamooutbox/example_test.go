package dynamooutbox_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/dynamooutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// An order and its event are written in one transaction, by a function. A second function runs
// on a schedule, or for each batch of the table's stream, and sends what is pending.
func Example() {
	ctx := context.Background()
	client, table, closeAll, err := exampleClient(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer closeAll()
	ob, err := dynamooutbox.New(client, dynamooutbox.Config{Table: table})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := ob.Setup(ctx, 1); err != nil { // once, at deployment
		fmt.Println(err)
		return
	}
	fmt.Println(placeOrder(ctx, ob, table, "17"))
	fmt.Println(sendPending(ctx, ob))
	// Output:
	// <nil>
	// sent 17: placed
	// <nil>
}

func placeOrder(ctx context.Context, ob *dynamooutbox.Outbox, table, id string) error {
	return ob.InTx(ctx, func(ctx context.Context, tx *dynamooutbox.Tx) error {
		err := tx.Add(types.TransactWriteItem{Put: &types.Put{
			TableName: aws.String(table), // a table of yours
			Item: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "order#" + id}, "sk": &types.AttributeValueMemberN{Value: "0"},
			},
		}})
		if err != nil {
			return err
		}
		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: id, Payload: []byte("placed")})
	})
}

func sendPending(ctx context.Context, ob *dynamooutbox.Outbox) error {
	source, err := ob.Source(dynamooutbox.SourceConfig{})
	if err != nil {
		return err
	}
	sink, err := relay.Func(func(_ context.Context, r outbox.Record) error {
		fmt.Printf("sent %s: %s\n", r.Key, r.Payload)
		return nil
	}, relay.FuncConfig{})
	if err != nil {
		return err
	}
	r, err := relay.New(source, sink, relay.Config{})
	if err != nil {
		return err
	}
	_, err = r.RunOnce(ctx)
	return err
}
