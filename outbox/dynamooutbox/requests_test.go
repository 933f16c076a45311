package dynamooutbox_test

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

// through returns an Outbox on the table whose requests go through f.
func through(t *testing.T, env *testenv.DynamoEnv, f *faultnet.Dynamo) *dynamooutbox.Outbox {
	t.Helper()
	client, closeIdle := connect(env.URL)
	t.Cleanup(closeIdle)
	options := client.Options()
	f.Client = options.HTTPClient
	options.HTTPClient = f
	ob, err := dynamooutbox.New(dynamodb.New(options), dynamooutbox.Config{Table: env.Prefix + "outbox"})
	require.NoError(t, err)
	return ob
}

// requests counts them by their operation.
type requests struct {
	mu  sync.Mutex
	all map[string]int
}

func (r *requests) saw(operation string, _ []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = make(map[string]int)
	}
	r.all[operation]++
}

func (r *requests) take() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

func acquire(t *testing.T, ob *dynamooutbox.Outbox) driver.Session {
	t.Helper()
	src, err := ob.Source(dynamooutbox.SourceConfig{})
	require.NoError(t, err)
	s, err := src.Acquire(t.Context(), leaseTime)
	require.NoError(t, err)
	return s
}

func enqueue(t *testing.T, ob *dynamooutbox.Outbox, msgs ...outbox.Message) {
	t.Helper()
	tx := ob.Begin()
	require.NoError(t, ob.Enqueue(t.Context(), tx, msgs...))
	require.NoError(t, tx.Commit(t.Context()))
}

// TestRead_IdleAsksEachBucketOnce: what an idle relay costs.
func TestRead_IdleAsksEachBucketOnce(t *testing.T) {
	t.Parallel()
	_, env := newOutbox(t, 4)
	var count requests
	ob := through(t, env, &faultnet.Dynamo{Seen: count.saw})
	s := acquire(t, ob)
	count.take()
	for _, asked := range []int{64, 4, 4} { // the first time all that there can be
		p, err := s.Read(t.Context(), 10)
		require.NoError(t, err)
		require.Empty(t, p.Records)
		require.False(t, p.Waiting)
		require.Equal(t, map[string]int{"Query": asked}, count.take())
	}
	enqueue(t, ob, outbox.Message{Topic: "orders", Payload: []byte("1")})
	p, err := s.Read(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, p.Records, 1)
	require.NoError(t, s.Advance(t.Context(), p, 1))
	enqueue(t, ob, outbox.Message{Topic: "orders", Payload: []byte("2")}) // behind the lap
	p, err = s.Read(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, p.Records, 1, "an empty page comes only after a whole lap of this call")
}

// TestSetup_AnotherTable: a table with other keys is refused before anything is written to it.
func TestSetup_AnotherTable(t *testing.T) {
	t.Parallel()
	env := testenv.Dynamo(t)
	client, closeIdle := connect(env.URL)
	t.Cleanup(closeIdle)
	attribute := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind}
	}
	key := func(name string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: aws.String(name), KeyType: kind}
	}
	for name, table := range map[string]dynamodb.CreateTableInput{
		"hash alone": {
			AttributeDefinitions: []types.AttributeDefinition{attribute("pk", "S")},
			KeySchema:            []types.KeySchemaElement{key("pk", "HASH")},
		},
		"text": {
			AttributeDefinitions: []types.AttributeDefinition{attribute("pk", "S"), attribute("sk", "S")},
			KeySchema:            []types.KeySchemaElement{key("pk", "HASH"), key("sk", "RANGE")},
		},
		"names": {
			AttributeDefinitions: []types.AttributeDefinition{attribute("id", "S"), attribute("sk", "N")},
			KeySchema:            []types.KeySchemaElement{key("id", "HASH"), key("sk", "RANGE")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table.TableName, table.BillingMode = aws.String(env.Prefix+strings.ReplaceAll(name, " ", "-")), types.BillingModePayPerRequest
			_, err := client.CreateTable(t.Context(), &table)
			require.NoError(t, err)
			ob, err := dynamooutbox.New(client, dynamooutbox.Config{Table: *table.TableName})
			require.NoError(t, err)
			err = ob.Setup(t.Context(), 1)
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, "partition key pk (S) and the sort key sk (N)")
			out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: table.TableName})
			require.NoError(t, err)
			require.Empty(t, out.Items)
		})
	}
}

// TestRead_LargeEarlierMessages: a Query does not see half of the large messages that others follow. They are
// more than one TransactGetItems can look at: DynamoDB refuses one whose items have more than 4 MB
// together, whatever is asked of them, and DynamoDB Local does not.
func TestRead_LargeEarlierMessages(t *testing.T) {
	t.Parallel()
	plain, env := newOutbox(t, 1)
	const keys = 27 // odd: of each key one of the two is hidden
	for _, payload := range [][]byte{make([]byte, 350<<10), []byte("later")} {
		for i := range keys {
			enqueue(t, plain, outbox.Message{Topic: "orders", Key: "k" + strconv.Itoa(i), Payload: payload})
		}
	}
	f := &faultnet.Dynamo{Hide: true}
	ob, refused := through(t, env, f), 0
	next := f.Client
	f.Client = doer(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactGetItems") && bytes.Count(body, []byte(`"Get"`)) > 4_000_000/(350<<10) {
			refused++
			return faultnet.DynamoAnswer(http.StatusBadRequest, "ValidationException"), nil
		}
		return next.Do(r)
	})
	got := drain(t, ob, 2*keys)
	require.Positive(t, refused)
	require.Len(t, got, 2*keys)
	require.Zero(t, inversions(got))
	require.GreaterOrEqual(t, f.Struck(faultnet.DynamoHide), keys/2)
}

// TestHold_RefusedItem: what DynamoDB has refused is told as it has said it.
func TestHold_RefusedItem(t *testing.T) {
	t.Parallel()
	plain, env := newOutbox(t, 1)
	enqueue(t, plain, outbox.Message{Topic: "orders", Payload: []byte("1")})
	f := &faultnet.Dynamo{}
	s := acquire(t, through(t, env, f))
	p, err := s.Read(t.Context(), 10)
	require.NoError(t, err)
	next := f.Client
	f.Client = doer(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
			return faultnet.DynamoCancelled("None", "None", "ValidationError", "None"), nil
		}
		return next.Do(r)
	})
	holder, ok := s.(driver.Holder)
	require.True(t, ok)
	err = holder.Hold(t.Context(), p, 1, []driver.Holding{{Index: 0, Fate: driver.FatePark, Reason: "refused"}})
	require.ErrorContains(t, err, "cancelled by faultnet")
	require.NotContains(t, err.Error(), "not pending")
	require.NotErrorIs(t, err, driver.ErrLeaseLost)
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }
