package dynamoinbox

import (
	"context"
	"errors"
	"log"
	"net/http"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/dynamooutbox"
	"github.com/leat-go/leat/outbox/dynamooutbox/dynamotable"
)

//leat:level 1
func TestMain(m *testing.M) {
	if err := testenv.SideBySide(); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}

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

// subject is an inboxtest.Subject with tables of its own.
type subject struct {
	client *dynamodb.Client
	ob     *dynamooutbox.Outbox
	prefix string

	mu       sync.Mutex
	breaking []bool // commits that will break, and whether they have taken effect then
}

func newSubject(t *testing.T) *subject {
	t.Helper()
	env := testenv.Dynamo(t)
	client, closeIdle := connect(env.URL)
	t.Cleanup(closeIdle)
	ob, err := dynamooutbox.New(client, dynamooutbox.Config{Table: env.Prefix + "outbox"})
	require.NoError(t, err)
	require.NoError(t, ob.Setup(t.Context(), 2))
	s := &subject{client: client, ob: ob, prefix: env.Prefix}
	in, err := New(ob, client, "setup", s.config(inbox.Config{}))
	require.NoError(t, err)
	require.NoError(t, in.Setup(t.Context()))
	require.NoError(t, dynamotable.Table{
		Name: s.effects(), Partition: dynamotable.Key{Name: "pk", Type: types.ScalarAttributeTypeS},
	}.Setup(t.Context(), client))
	return s
}

func (s *subject) config(cfg inbox.Config) Config {
	return Config{Config: cfg, Table: s.prefix + "inbox"}
}
func (s *subject) effects() string { return s.prefix + "effects" }

// Open implements inboxtest.Subject.
func (s *subject) Open(consumer string, cfg inbox.Config) (inbox.Runner, error) {
	inner := &store{ob: s.ob, client: s.client, consumer: consumer, cfg: s.config(cfg).withDefaults()}
	return inbox.New(&breakingStore{inner, s}, consumer, cfg)
}

// breakingStore breaks commits on command.
type breakingStore struct {
	*store

	subject *subject
}

func (b *breakingStore) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	u, status, err := b.store.Claim(ctx, id)
	if u == nil {
		return nil, status, err
	}
	return &breakingUnit{u, b.subject}, status, nil
}

type breakingUnit struct {
	driver.Unit

	subject *subject
}

var errBroken = errors.New("the connection broke")

func (u *breakingUnit) Commit(ctx context.Context) error {
	u.subject.mu.Lock()
	var breaks, applied bool
	if len(u.subject.breaking) > 0 {
		breaks, applied = true, u.subject.breaking[0]
		u.subject.breaking = u.subject.breaking[1:]
	}
	u.subject.mu.Unlock()
	switch {
	case !breaks:
		return u.Unit.Commit(ctx)
	case applied:
		return errors.Join(errBroken, u.Unit.Commit(ctx))
	default:
		return errors.Join(errBroken, u.Rollback(ctx))
	}
}

// BreakCommit implements inboxtest.Subject.
func (s *subject) BreakCommit(applied bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breaking = append(s.breaking, applied)
}

// Write implements inboxtest.Subject.
func (s *subject) Write(ctx context.Context, effect string) error {
	tx, ok := Tx(ctx)
	if !ok {
		return outbox.ErrNotInTransaction
	}
	id, err := ids.New()
	if err != nil {
		return err
	}
	return tx.Add(types.TransactWriteItem{Put: &types.Put{TableName: aws.String(s.effects()), Item: item{
		"pk": &types.AttributeValueMemberS{Value: id}, "what": &types.AttributeValueMemberS{Value: effect},
	}}})
}

// Effects implements inboxtest.Subject.
func (s *subject) Effects(ctx context.Context) ([]string, error) {
	return s.scan(ctx, &dynamodb.ScanInput{TableName: aws.String(s.effects())}, "what")
}

// Enqueued implements inboxtest.Subject.
func (s *subject) Enqueued(ctx context.Context) ([]string, error) {
	return s.scan(ctx, &dynamodb.ScanInput{
		TableName: aws.String(s.prefix + "outbox"), FilterExpression: aws.String("begins_with(pk, :messages)"),
		ExpressionAttributeValues: item{":messages": &types.AttributeValueMemberS{Value: "M#"}},
	}, "i")
}

func (s *subject) scan(ctx context.Context, in *dynamodb.ScanInput, attribute string) (all []string, err error) {
	in.ConsistentRead = aws.Bool(true)
	pages := dynamodb.NewScanPaginator(s.client, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, i := range page.Items {
			value, _ := i[attribute].(*types.AttributeValueMemberS)
			all = append(all, value.Value)
		}
	}
	return all, nil
}

// Recorded implements inboxtest.Subject.
func (s *subject) Recorded(ctx context.Context, consumer, id string) (bool, error) {
	of := &store{consumer: consumer}
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(s.prefix + "inbox"), Key: of.keyOf(id), ConsistentRead: aws.Bool(true),
	})
	return err == nil && len(out.Item) > 0, err
}

// Marker implements inboxtest.MarkSubject.
func (s *subject) Marker() (driver.Marker, error) {
	return New(s.ob, s.client, "marks", s.config(inbox.Config{}))
}

// Outbox implements inboxtest.Subject.
func (s *subject) Outbox() outbox.Enqueuer { return s.ob }

func TestConformance(t *testing.T) {
	t.Parallel()
	inboxtest.Run(t, inboxtest.Features{
		Optimistic: true, NoForget: true, NoSharedLocks: true, NoFailures: true, NoBatches: true, NoAudit: true,
	}, func(t *testing.T) inboxtest.Subject { t.Helper(); return newSubject(t) })
}
