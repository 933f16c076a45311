package dynamooutbox_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
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

// operator is an admin.Outbox that can stand beside an Outbox.
type operator interface{ admin.Outbox }

// subject fits an Outbox to the suite.
type subject struct {
	*dynamooutbox.Outbox
	operator

	client *dynamodb.Client
	table  string
}

func newSubject(t *testing.T) outboxtest.Subject {
	t.Helper()
	ob, env := newOutbox(t, 4)
	client, closeIdle := connect(env.URL)
	t.Cleanup(closeIdle)
	return subject{ob, ob.Admin(), client, env.Prefix + "outbox"}
}

// Begin implements outboxtest.Subject.
func (s subject) Begin(context.Context) (outboxtest.Tx, error) {
	return subjectTx{s.Outbox.Begin(), s.Outbox}, nil
}

var _ outboxtest.ForeignWriter = subject{}

// WriteForeign implements outboxtest.ForeignWriter: items whose attributes are of other types
// than Enqueue writes.
func (s subject) WriteForeign(ctx context.Context) (payloads []string, err error) {
	type is = types.AttributeValue
	list := &types.AttributeValueMemberL{Value: []is{&types.AttributeValueMemberN{Value: "1"}, &types.AttributeValueMemberNULL{Value: true}}}
	inside := &types.AttributeValueMemberM{Value: map[string]is{"a": list, "b": &types.AttributeValueMemberBOOL{Value: true}}}
	for i, odd := range []struct {
		attribute string
		value     is
		payload   string
	}{
		{"p", &types.AttributeValueMemberS{Value: "a text"}, "a text"},
		{"p", &types.AttributeValueMemberN{Value: "7"}, "7"},
		{"p", inside, `{"a":[1,null],"b":true}`},
		{"h", &types.AttributeValueMemberS{Value: `{"tenant": 7}`}, ""},
		{"h", list, ""},
		{"i", &types.AttributeValueMemberB{Value: []byte{0xff}}, ""},
		{"t", &types.AttributeValueMemberN{Value: "7"}, ""},
		{"y", list, ""},
		{"c", &types.AttributeValueMemberS{Value: "yesterday"}, ""},
		{"o", &types.AttributeValueMemberN{Value: "1.5"}, ""},
	} {
		payload := "foreign-" + strconv.Itoa(i)
		err := s.InTx(ctx, func(ctx context.Context, tx *dynamooutbox.Tx) error {
			return s.Enqueue(ctx, tx, outbox.Message{Topic: "t", Payload: []byte(payload)})
		})
		if err != nil {
			return nil, err
		}
		all, err := s.client.Scan(ctx, &dynamodb.ScanInput{
			TableName: &s.table, FilterExpression: aws.String("p = :p"),
			ExpressionAttributeValues: map[string]is{":p": &types.AttributeValueMemberB{Value: []byte(payload)}},
		})
		if err != nil {
			return nil, err
		}
		item := all.Items[0]
		item[odd.attribute] = odd.value
		if _, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: item}); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		payloads = append(payloads, cmp.Or(odd.payload, payload))
	}
	return payloads, nil
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

var _ admin.Outbox = subject{}

func features() outboxtest.Features {
	return outboxtest.Features{
		OptimisticKeys: true, NoGroups: true, NoHistory: true, NoDelay: true, NoSlots: true, FixedSlots: true,
		NoStarts: true, NoTopics: true, NoPositions: true, NoReplay: true, NoRetention: true,
		NoTakeover:  true,
		MaxMessages: 100, MaxPayloadBytes: 350 << 10,
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
