package dynamodedupe_test

import (
	"context"
	"errors"
	"log"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/dedupetest"
	"github.com/leat-go/leat/dedupe/dynamodedupe"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

//leat:level 1
func TestMain(m *testing.M) {
	if err := testenv.SideBySide(); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}

// way is the way to a server, which can be bad.
type way struct {
	http.RoundTripper

	// lose has the first answer of every third write get lost.
	lose   bool
	writes atomic.Int64
	// ahead is how far the server's clock is ahead; without is set if it tells no time.
	ahead   time.Duration
	without bool
}

var errLost = errors.New("the answer is lost")

// RoundTrip implements http.RoundTripper.
func (w *way) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := w.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	// A write that is asked again gets its answer: writes beside it must not use up its attempts.
	if w.lose && strings.HasSuffix(req.Header.Get("X-Amz-Target"), ".PutItem") &&
		strings.HasPrefix(req.Header.Get("Amz-Sdk-Request"), "attempt=1;") && w.writes.Add(1)%3 == 0 {
		return nil, errors.Join(errLost, answer.Body.Close())
	}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		answer.Header.Set("Date", date.Add(w.ahead).UTC().Format(http.TimeFormat))
	}
	if w.without {
		answer.Header.Del("Date")
	}
	return answer, nil
}

// connect returns a client of a server that takes any credentials.
func connect(t *testing.T, env *testenv.DynamoEnv, w *way) *dynamodb.Client {
	t.Helper()
	client, closeIdle := dial(env.URL, w)
	t.Cleanup(closeIdle)
	return client
}

// dial is connect, with what closes the connections.
func dial(url string, w *way) (client *dynamodb.Client, closeIdle func()) {
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	w.RoundTripper = transport
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(url), Region: "us-east-1", HTTPClient: &http.Client{Transport: w},
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Millisecond, nil })
			o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
				return aws.BoolTernary(errors.Is(err, errLost))
			}))
		}),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "leat", SecretAccessKey: "leat"}, nil
		}),
	}), transport.CloseIdleConnections
}

// subject is a store in a table of its own.
type subject struct {
	*dynamodedupe.Store

	client *dynamodb.Client
	table  string
}

func newSubject(t *testing.T, env *testenv.DynamoEnv, w *way) subject {
	t.Helper()
	client, table := connect(t, env, w), env.Prefix+"dedupe"
	s, err := dynamodedupe.New(client, dynamodedupe.Config{Table: table})
	require.NoError(t, err)
	require.NoError(t, s.Setup(t.Context()))
	return subject{s, client, table}
}

// Lose implements dedupetest.Subject.
func (s subject) Lose(ctx context.Context, key dedupe.Key) error {
	_, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.table, Key: dynamodedupe.KeyOf(key)})
	return err
}

func TestStore_Conformance(t *testing.T) {
	t.Parallel()
	dedupetest.Run(t, func(t *testing.T) dedupetest.Subject {
		t.Helper()
		return newSubject(t, testenv.Dynamo(t), &way{})
	})
}

// TestStore_LostAnswers is the suite where answers to writes get lost, and the SDK asks again:
// a write then fails on its own success.
//
//leat:level 2
func TestStore_LostAnswers(t *testing.T) {
	t.Parallel()
	dedupetest.Run(t, func(t *testing.T) dedupetest.Subject {
		t.Helper()
		return newSubject(t, testenv.Dynamo(t), &way{lose: true})
	})
}

// TestD4_ClocksOfServers: the server that is asked for a claim is a second behind the one that
// is asked for the takeover. Nobody takes over early.
func TestD4_ClocksOfServers(t *testing.T) {
	t.Parallel()
	env := testenv.Dynamo(t)
	behind := newSubject(t, env, &way{ahead: -time.Second})
	on := newSubject(t, env, &way{})
	const lease = 300 * time.Millisecond
	for _, id := range []string{"a", "b", "c"} { // at other fractions of a second
		k, began := dedupe.Key{Consumer: "c", ID: id}, time.Now()
		c, err := behind.Claim(t.Context(), k, dedupe.Request{Token: "t", Lease: lease})
		require.NoError(t, err)
		require.Equal(t, dedupe.Claimed, c.Status)
		for c, err = on.Claim(t.Context(), k, dedupe.Request{Token: "u", Lease: lease}); c.Status == dedupe.Busy; {
			require.NoError(t, err)
			require.LessOrEqual(t, c.Remaining, lease)
			require.NoError(t, wait.For(t.Context(), 7*time.Millisecond))
			c, err = on.Claim(t.Context(), k, dedupe.Request{Token: "u", Lease: lease})
		}
		require.NoError(t, err)
		require.True(t, c.Takeover)
		require.Greater(t, time.Since(began), lease, "taken over before the lease was over")
	}
}

// TestD3_ForgottenBeforeItIsDeleted: DynamoDB deletes days later. What is forgotten counts as
// gone meanwhile, and nothing else does.
func TestD3_ForgottenBeforeItIsDeleted(t *testing.T) {
	t.Parallel()
	s := newSubject(t, testenv.Dynamo(t), &way{})
	for id, forgotten := range map[string]bool{"old": true, "kept": false} {
		k := dedupe.Key{Consumer: "c", ID: id}
		_, err := s.Claim(t.Context(), k, dedupe.Request{Token: "t", Lease: time.Minute})
		require.NoError(t, err)
		_, err = s.Complete(t.Context(), k, "t", []byte("result"))
		require.NoError(t, err)
		want := dedupe.Claim{Status: dedupe.Done, Attempt: 1, Result: []byte("result")}
		if forgotten {
			_, err := s.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: &s.table, Key: dynamodedupe.KeyOf(k), UpdateExpression: aws.String("SET fa = :past"),
				ExpressionAttributeValues: map[string]types.AttributeValue{":past": &types.AttributeValueMemberN{Value: "1"}},
			})
			require.NoError(t, err)
			want = dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}
		}
		c, err := s.Claim(t.Context(), k, dedupe.Request{Token: "u", Lease: time.Minute})
		require.NoError(t, err)
		require.Equal(t, want, c)
	}
	ttl, err := s.client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &s.table})
	require.NoError(t, err)
	require.Equal(t, "ttl", aws.ToString(ttl.TimeToLiveDescription.AttributeName))
}

// TestStore_Refuses names what cannot work.
func TestStore_Refuses(t *testing.T) {
	t.Parallel()
	env := testenv.Dynamo(t)
	client := connect(t, env, &way{})
	_, err := dynamodedupe.New(nil, dynamodedupe.Config{Table: "t"})
	require.ErrorContains(t, err, "client")
	for field, cfg := range map[string]dynamodedupe.Config{"Table": {}, "TTL": {Table: "t", TTL: time.Millisecond}} {
		_, err := dynamodedupe.New(client, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, field+" =")
	}

	k := dedupe.Key{Consumer: "c", ID: "m"}
	missing, err := dynamodedupe.New(client, dynamodedupe.Config{Table: env.Prefix + "missing"})
	require.NoError(t, err)
	require.ErrorIs(t, missing.Release(t.Context(), k, "t"), outbox.ErrNotMigrated)

	foreign := env.Prefix + "foreign"
	_, err = client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &foreign, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	})
	require.NoError(t, err)
	other, err := dynamodedupe.New(client, dynamodedupe.Config{Table: foreign})
	require.NoError(t, err)
	require.ErrorContains(t, other.Setup(t.Context()), "pk (B)")

	s := newSubject(t, env, &way{without: true})
	_, err = s.Claim(t.Context(), k, dedupe.Request{Token: "t", Lease: time.Minute})
	require.ErrorContains(t, err, "no Date")
	_, err = s.Claim(t.Context(), k, dedupe.Request{Lease: time.Minute})
	require.ErrorIs(t, err, dedupe.ErrInvalidKey)
	require.NoError(t, s.Setup(t.Context()), "again")

	large := newSubject(t, env, &way{})
	_, err = large.Complete(t.Context(), k, "t", make([]byte, dynamodedupe.MaxResultBytes+1))
	require.NoError(t, err)
	c, err := large.Claim(t.Context(), k, dedupe.Request{Token: "u", Lease: time.Minute})
	require.NoError(t, err)
	require.Equal(t, dedupe.Claim{Status: dedupe.Done, Attempt: 1}, c)
}
