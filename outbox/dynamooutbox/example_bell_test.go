package dynamooutbox_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/dynamooutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// A relay that always runs, beside producers in other processes. The table's stream wakes it, so an
// idle table costs little and no message waits for a poll.
func ExampleOutbox_RunBell() {
	client, table, closeAll, err := exampleClient(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer closeAll()
	fmt.Println(sendWithBell(client, table))
	// Output:
	// sent 17: placed
	// <nil>
}

func sendWithBell(client *dynamodb.Client, table string) error {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	ob, err := dynamooutbox.New(client, dynamooutbox.Config{Table: table})
	if err != nil {
		return err
	}
	source, err1 := ob.Source(dynamooutbox.SourceConfig{})
	sink, err2 := relay.Func(func(_ context.Context, r outbox.Record) error {
		fmt.Printf("sent %s: %s\n", r.Key, r.Payload)
		stop()
		return nil
	}, relay.FuncConfig{})
	if err := errors.Join(err1, err2, ob.Setup(ctx, 1), switchOnStream(ctx, client, table)); err != nil {
		return err
	}
	r, err := relay.New(source, sink, relay.Config{PollMax: 30 * time.Second})
	if err != nil {
		return err
	}
	options := client.Options()
	streams := dynamodbstreams.New(dynamodbstreams.Options{
		Region: options.Region, Credentials: options.Credentials, BaseEndpoint: options.BaseEndpoint, HTTPClient: options.HTTPClient,
	})
	ended := make(chan error, 2)
	go func() { ended <- ob.RunBell(ctx, streams, dynamooutbox.BellConfig{}) }()
	go func() { ended <- r.Run(ctx) }()

	producer, err := dynamooutbox.New(client, dynamooutbox.Config{Table: table}) // in another process
	if err == nil {
		err = placeOrder(context.WithoutCancel(ctx), producer, table, "17")
	}
	return errors.Join(err, <-ended, <-ended)
}

// switchOnStream is done once, at deployment.
func switchOnStream(ctx context.Context, client *dynamodb.Client, table string) error {
	on := true
	_, err := client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName:           &table,
		StreamSpecification: &types.StreamSpecification{StreamEnabled: &on, StreamViewType: types.StreamViewTypeKeysOnly},
	})
	return err
}
