package dynamoinbox_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/leat-go/leat/inbox/dynamoinbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

// A message is delivered twice. Its handler enqueues an event, and adds what else it writes to
// the same transaction.
func Example() {
	if err := deliverTwice(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// committed
	// duplicate
}

func deliverTwice(ctx context.Context) (err error) {
	client, prefix, closeAll, err := exampleClient(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()

	ob, err := dynamooutbox.New(client, dynamooutbox.Config{Table: prefix + "outbox"})
	if err != nil {
		return err
	}
	in, err := dynamoinbox.New(ob, client, "billing", dynamoinbox.Config{Table: prefix + "inbox"})
	if err != nil {
		return err
	}
	if err := errors.Join(ob.Setup(ctx, 1), in.Setup(ctx)); err != nil {
		return err
	}
	for range 2 {
		msg := message.NewMessage("order-4711/placed", []byte(`{}`))
		outcome, err := in.Process(ctx, msg, func(ctx context.Context) error {
			// dynamoinbox.Tx(ctx) takes the handler's own items.
			return ob.EnqueueContext(ctx, outbox.Message{Topic: "invoices", Key: "4711", Payload: []byte(`{}`)})
		})
		if err != nil {
			return err
		}
		fmt.Println(outcome)
	}
	return nil
}

// exampleClient returns a client, and how the names of tables begin that closeAll deletes.
func exampleClient(ctx context.Context) (client *dynamodb.Client, prefix string, closeAll func() error, err error) {
	env, err := testenv.Start(ctx, testenv.Needs{Dynamo: true})
	if err != nil {
		return nil, "", nil, err
	}
	transport := &http.Transport{}
	client = dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(env.DynamoURL), Region: "us-east-1", HTTPClient: &http.Client{Transport: transport},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "leat", SecretAccessKey: "leat"}, nil
		}),
	})
	prefix = "leat-example-inbox-" + strconv.Itoa(os.Getpid()) + "-"
	return client, prefix, func() error {
		var errs []error
		for _, table := range []string{"outbox", "inbox"} {
			_, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(prefix + table)})
			errs = append(errs, err)
		}
		transport.CloseIdleConnections()
		return errors.Join(append(errs, env.Close())...)
	}, nil
}
