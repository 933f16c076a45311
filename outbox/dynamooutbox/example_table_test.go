package dynamooutbox_test

import (
	"context"
	"errors"
	"os"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/leat-go/leat/internal/testenv"
)

// exampleClient returns a client, and the name of a table that close deletes.
func exampleClient(ctx context.Context) (client *dynamodb.Client, table string, closeAll func(), err error) {
	env, err := testenv.Start(ctx, testenv.Needs{Dynamo: true})
	if err != nil {
		return nil, "", nil, err
	}
	client, closeIdle := connect(env.DynamoURL)
	table = "leat-example-" + strconv.Itoa(os.Getpid())
	return client, table, func() {
		_, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
		closeIdle()
		if err := errors.Join(err, env.Close()); err != nil {
			panic(err)
		}
	}, nil
}
