package dynamooutbox_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/dynamooutbox"
	"github.com/leat-go/leat/outbox/outboxtest"
)

// connect returns a client of a server that takes any credentials, and what closes its
// connections.
func connect(url string) (client *dynamodb.Client, closeIdle func()) {
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(url), Region: "us-east-1", HTTPClient: &http.Client{Transport: transport},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "leat", SecretAccessKey: "leat"}, nil
		}),
	}), transport.CloseIdleConnections
}

func newOutbox(t *testing.T, buckets int) (*dynamooutbox.Outbox, *testenv.DynamoEnv) {
	t.Helper()
	env := testenv.Dynamo(t)
	client, closeIdle := connect(env.URL)
	t.Cleanup(closeIdle)
	ob, err := dynamooutbox.New(client, dynamooutbox.Config{Table: env.Prefix + "outbox"})
	require.NoError(t, err)
	require.NoError(t, ob.Setup(t.Context(), buckets))
	return ob, env
}

// subject fits an Outbox to the suite.
type subject struct {
	*dynamooutbox.Outbox
}

func newSubject(t *testing.T) outboxtest.Subject {
	t.Helper()
	ob, _ := newOutbox(t, 4)
	return subject{ob}
}

// Begin implements outboxtest.Subject.
func (s subject) Begin(context.Context) (outboxtest.Tx, error) {
	return subjectTx{s.Outbox.Begin(), s.Outbox}, nil
}

// Source implements outboxtest.Subject.
func (s subject) Source(group string) driver.Source {
	src, err := s.Outbox.Source(dynamooutbox.SourceConfig{Group: group})
	if err != nil {
		panic(err) // the suite's groups have good names
	}
	return src
}

type subjectTx struct {
	tx *dynamooutbox.Tx
	ob *dynamooutbox.Outbox
}

func (t subjectTx) Enqueue(ctx context.Context, msgs ...outbox.Message) error {
	return t.ob.Enqueue(ctx, t.tx, msgs...)
}

func (t subjectTx) Context(ctx context.Context) context.Context {
	return dynamooutbox.ContextWithTx(ctx, t.tx)
}

func (t subjectTx) Commit(ctx context.Context) error { return t.tx.Commit(ctx) }

func (t subjectTx) Rollback(context.Context) error {
	t.tx.Rollback()
	return nil
}

var _ outboxtest.Admin = subject{}

func features() outboxtest.Features {
	return outboxtest.Features{
		OptimisticKeys: true, NoGroups: true, NoHistory: true, NoDelay: true, NoSlots: true, FixedSlots: true,
		NoStarts: true, NoTopics: true, NoPositions: true, NoReplay: true, NoRetention: true,
		MaxMessages: dynamooutbox.MaxItems, MaxPayloadBytes: dynamooutbox.MaxPayloadBytes,
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	outboxtest.Run(t, features(), newSubject)
}

func TestRelayConformance(t *testing.T) {
	t.Parallel()
	outboxtest.RunRelay(t, features(), newSubject)
}
