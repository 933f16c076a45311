package roles

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/dynamoinbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

// dynamo is a store on DynamoDB.
type dynamo struct {
	*dynamooutbox.Outbox

	db        *dynamodb.Client
	closeIdle func()
}

// DialDynamo returns a client of DynamoDB at a URL, and a function that closes its idle connections.
func DialDynamo(address string, dial Dial) (client *dynamodb.Client, closeIdle func()) {
	transport := &http.Transport{DialContext: dial, MaxIdleConnsPerHost: maxConns}
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &address, Region: "us-east-1", HTTPClient: &http.Client{Transport: transport},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "leat", SecretAccessKey: "leat"}, nil
		}),
	}), transport.CloseIdleConnections
}

// openDynamo opens the process's tables. Their names begin with the path of its URL.
func (p *process) openDynamo() (*dynamo, error) {
	u, err := url.Parse(p.Database)
	if err != nil {
		return nil, fmt.Errorf("parse the database's URL: %w", err)
	}
	prefix := strings.Trim(u.Path, "/")
	u.Path = ""
	client, closeIdle := DialDynamo(u.String(), p.connections.dial)
	ob, err := dynamooutbox.New(client, dynamooutbox.Config{Table: DynamoOutbox(prefix), Logger: p.log})
	if err != nil {
		return nil, err
	}
	return &dynamo{ob, client, closeIdle}, nil
}

func (s *dynamo) close() { s.closeIdle() }

func (s *dynamo) inTx(ctx context.Context, work func(ctx context.Context) error) error {
	return s.InTx(ctx, func(ctx context.Context, _ *dynamooutbox.Tx) error { return work(ctx) })
}

// rolledBack is true for every error except one of a commit. A panic may come after the commit.
func (s *dynamo) rolledBack(err error) bool {
	return !errors.Is(err, outbox.ErrCommitUnknown) && !errors.Is(err, errPanicked)
}

// errNoPlainProducer is returned because DynamoDB's tables are not written by SQL.
var errNoPlainProducer = errors.New("nobody enqueues with plain SQL here")

func (s *dynamo) enqueuePlainly(context.Context, outbox.Message, string) error {
	return errNoPlainProducer
}

func (s *dynamo) transfer(ctx context.Context, e event) (version int64, err error) {
	if version, err = s.move(ctx, DynamoAccounts, e); err != nil {
		return 0, err
	}
	return version, add(ctx, put(DynamoTransfers, e.ID, e, version, ""))
}

// book numbers effects by account, so that an effect that happened twice is stored twice.
func (s *dynamo) book(ctx context.Context, e event, child string) error {
	no, err := s.move(ctx, DynamoBalances, e)
	if err != nil {
		return err
	}
	return add(ctx, put(DynamoEffects, e.From+"#"+strconv.FormatInt(no, 10), e, no, child))
}

// errNoTx is returned outside a transaction.
var errNoTx = errors.New("the context carries no transaction")

// add adds items to the transaction that ctx carries.
func add(ctx context.Context, items ...types.TransactWriteItem) error {
	tx, ok := dynamooutbox.TxFrom(ctx)
	if !ok {
		return errNoTx
	}
	return tx.Add(items...)
}

// move changes the two accounts of a transfer in a table, and returns the new version of the first
// account. The transaction fails if the version has changed since it was read.
func (s *dynamo) move(ctx context.Context, table string, e event) (version int64, err error) {
	row, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: dynamoKey(e.From), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return 0, fmt.Errorf("read account %s: %w", e.From, err)
	}
	version = DynamoNumber(row.Item, "version") + 1
	from := &types.Update{
		TableName: &table, Key: dynamoKey(e.From),
		UpdateExpression:    aws.String("SET version = :next ADD balance :amount"),
		ConditionExpression: aws.String("version = :was"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":was": number(version - 1), ":next": number(version), ":amount": number(-e.Amount),
		},
	}
	if len(row.Item) == 0 { // the transfer creates this account
		from.ConditionExpression = aws.String("attribute_not_exists(pk)")
		delete(from.ExpressionAttributeValues, ":was")
	}
	if err := add(ctx, types.TransactWriteItem{Update: from}); err != nil || e.To == "" {
		return version, err
	}
	return version, add(ctx, types.TransactWriteItem{Update: &types.Update{
		TableName: &table, Key: dynamoKey(e.To), UpdateExpression: aws.String("ADD balance :amount"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":amount": number(e.Amount)},
	}})
}

// put returns the write of a transfer.
func put(table, key string, e event, no int64, child string) types.TransactWriteItem {
	row := dynamoKey(key)
	for name, value := range map[string]string{"id": e.ID, "account": e.From, "to_account": e.To, "child": child} {
		if value != "" {
			row[name] = &types.AttributeValueMemberS{Value: value}
		}
	}
	row["version"], row["amount"] = number(no), number(e.Amount)
	return types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: row}}
}

// inbox returns an inbox that does not park messages: the bank sends no poison here.
func (s *dynamo) inbox(hooks ...outbox.Hook) (markedInbox, error) {
	cfg := ledgerInbox(hooks...)
	cfg.OnFailure = inbox.Policy{}
	return dynamoinbox.New(s.Outbox, s.db, Ledger, dynamoinbox.Config{Config: cfg, Table: DynamoInbox})
}

// forgets does nothing: DynamoDB deletes old records itself.
func (s *dynamo) forgets() (func(ctx context.Context) error, error) { return s.maintenance() }

func (s *dynamo) source() (driver.Source, error) { return s.Source(dynamooutbox.SourceConfig{}) }

// maintenance does nothing: sent records are deleted at once.
func (s *dynamo) maintenance() (func(ctx context.Context) error, error) {
	return func(context.Context) error { return nil }, nil
}

// notify does nothing: relays poll.
func (s *dynamo) notify(context.Context) {}

// errNoCursor is returned because a number cannot be a position in DynamoDB.
var errNoCursor = errors.New("nobody reads by number here")

func (s *dynamo) page(context.Context) ([]outbox.Message, int64, error) { return nil, 0, errNoCursor }

func (s *dynamo) moveCursor(context.Context, int64) error { return errNoCursor }
