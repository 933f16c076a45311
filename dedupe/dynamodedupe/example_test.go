package dynamodedupe_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/dynamodedupe"
	"github.com/leat-go/leat/internal/testenv"
)

// A message is delivered twice, and has its effect once.
func Example() {
	if err := deliverTwice(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// mail sent
	// ran
	// duplicate
}

func deliverTwice(ctx context.Context) (err error) {
	client, table, closeAll, err := exampleClient(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()

	store, err := dynamodedupe.New(client, dynamodedupe.Config{Table: table})
	if err != nil {
		return err
	}
	if err := store.Setup(ctx); err != nil {
		return err
	}
	processor, err := dedupe.New(store, "mailer", dedupe.Config{})
	if err != nil {
		return err
	}
	for range 2 {
		result, err := processor.Do(ctx, dedupe.Message{ID: "order-4711/placed"}, func(context.Context) ([]byte, error) {
			fmt.Println("mail sent")
			return nil, nil
		})
		if err != nil {
			return err
		}
		fmt.Println(result.Outcome)
	}
	return nil
}

// exampleClient returns a client, and the name of a table that close deletes.
func exampleClient(ctx context.Context) (client *dynamodb.Client, table string, closeAll func() error, err error) {
	env, err := testenv.Start(ctx, testenv.Needs{Dynamo: true})
	if err != nil {
		return nil, "", nil, err
	}
	client, closeIdle := dial(env.DynamoURL, &way{})
	table = "leat-example-dedupe-" + strconv.Itoa(os.Getpid())
	return client, table, func() error {
		_, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
		closeIdle()
		return errors.Join(err, env.Close())
	}, nil
}
