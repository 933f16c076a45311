package dynamooutbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

// streamsOf returns a client of the streams on a server.
func streamsOf(url string, client dynamodbstreams.HTTPClient) *dynamodbstreams.Client {
	return dynamodbstreams.New(dynamodbstreams.Options{
		BaseEndpoint: aws.String(url), Region: "us-east-1", HTTPClient: client, Credentials: aws.CredentialsProviderFunc(credentials),
	})
}

func switchOn(t *testing.T, env *testenv.DynamoEnv) {
	t.Helper()
	client, closeIdle := connect(env.URL)
	defer closeIdle()
	_, err := client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName:           aws.String(env.Prefix + "outbox"),
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeKeysOnly},
	})
	require.NoError(t, err)
}

// ringing runs the bell of ob until the test ends.
func ringing(t *testing.T, ob *dynamooutbox.Outbox, streams *dynamodbstreams.Client) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ob.RunBell(ctx, streams, dynamooutbox.BellConfig{Interval: time.Millisecond}) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
}

func heard(t *testing.T, what string, rings <-chan struct{}) {
	t.Helper()
	select {
	case <-rings:
	case <-time.After(time.Minute):
		require.Fail(t, "no ring", what)
	}
}

// TestRunBell: the process that leads hears what others commit. One that stands by does not read the stream.
func TestRunBell(t *testing.T) {
	t.Parallel()
	ob, env := newOutbox(t, 2)
	switchOn(t, env)
	src, err := ob.Source(dynamooutbox.SourceConfig{})
	require.NoError(t, err)
	rings := src.Wakes(t.Context())
	s, err := src.Acquire(t.Context(), leaseTime)
	require.NoError(t, err)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	var asked, idle requests
	var granted []string
	used := []string{"DescribeTable"}
	ringing(t, ob, streamsOf(env.URL, &faultnet.Dynamo{Client: &http.Client{Transport: transport}, Seen: asked.saw}))
	heard(t, "for what came before", rings)
	standby := through(t, env, &faultnet.Dynamo{})
	ringing(t, standby, streamsOf(env.URL, &faultnet.Dynamo{Client: &http.Client{Transport: transport}, Seen: idle.saw}))
	for range 3 {
		enqueue(t, standby, outbox.Message{Topic: "orders", Key: "k", Payload: []byte("1")})
		heard(t, "a message", rings)
		p, err := s.Read(t.Context(), 10)
		require.NoError(t, err)
		require.Len(t, p.Records, 1)
		require.NoError(t, s.Advance(t.Context(), p, 1))
	}
	require.Empty(t, idle.take())
	for _, statement := range policies(t)["bell"].Statement {
		for _, action := range statement.Action {
			granted = append(granted, strings.TrimPrefix(action, "dynamodb:"))
		}
	}
	for operation := range asked.take() {
		used = append(used, operation)
	}
	require.ElementsMatch(t, granted, used)
	require.ErrorIs(t, ob.RunBell(t.Context(), nil, dynamooutbox.BellConfig{}), outbox.ErrInvalidConfig)
}

// shardScript plays a stream: s0 has ended before, s1 is open and ends at the second look, s2 follows it.
type shardScript struct {
	mu    sync.Mutex
	began map[string]string // how each shard was begun
	looks int
	done  chan struct{} // closed once the deletion in s2 was read
}

// Do implements the SDK's HTTPClient.
func (s *shardScript) Do(r *http.Request) (*http.Response, error) {
	var in struct {
		Shard             string `json:"ShardId"`
		ShardIteratorType string
		ShardIterator     string
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out string
	switch r.Header.Get("X-Amz-Target") {
	case "DynamoDBStreams_20120810.DescribeStream":
		out = `{"StreamDescription":{"Shards":[{"ShardId":"s0","SequenceNumberRange":{"EndingSequenceNumber":"9"}},{"ShardId":"s1"}`
		if s.looks > 0 {
			out += `,{"ShardId":"s2"}`
		}
		out += `]}}`
	case "DynamoDBStreams_20120810.GetShardIterator":
		s.began[in.Shard] = in.ShardIteratorType
		out = `{"ShardIterator":"` + in.Shard + `"}`
	default:
		s.looks++
		out = s.records(in.ShardIterator)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewBufferString(out))}, nil
}

func (s *shardScript) records(iterator string) string {
	record := func(event, pk string) string {
		return `{"eventName":"` + event + `","dynamodb":{"Keys":{"pk":{"S":"` + pk + `"},"sk":{"N":"1"}}}}`
	}
	switch {
	case iterator == "s1" && s.looks < 3:
		return `{"Records":[],"NextShardIterator":"s1"}`
	case iterator == "s1":
		return `{"Records":[]}`
	case iterator == "s2":
		return `{"Records":[` + record("REMOVE", "M#1") + `,` + record("MODIFY", "L") + `,` + record("INSERT", "A") + `],"NextShardIterator":"own"}`
	case iterator == "own":
		close(s.done)
		return `{"Records":[` + record("INSERT", "M#1") + `],"NextShardIterator":"quiet"}`
	}
	return `{"Records":[],"NextShardIterator":"quiet"}`
}

// TestRunBell_Shards: shards that are there are read from now, those that come from their beginning. What the
// relay does itself rings no bell.
func TestRunBell_Shards(t *testing.T) {
	t.Parallel()
	ob, env := newOutbox(t, 1)
	switchOn(t, env)
	src, err := ob.Source(dynamooutbox.SourceConfig{})
	require.NoError(t, err)
	_, err = src.Acquire(t.Context(), leaseTime)
	require.NoError(t, err)
	rings := src.Wakes(t.Context())
	s := &shardScript{began: make(map[string]string), done: make(chan struct{})}
	ringing(t, ob, streamsOf(env.URL, s))
	heard(t, "for what came before", rings)
	select {
	case <-rings:
		select {
		case <-s.done:
		default:
			require.Fail(t, "rung by what the relay does itself")
		}
	case <-time.After(time.Minute):
		require.Fail(t, "no ring")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Equal(t, map[string]string{"s1": "LATEST", "s2": "TRIM_HORIZON"}, s.began)
}
