package dynamooutbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

// faults stands between a client and the server, and does what DynamoDB does and DynamoDB Local
// does not.
type faults struct {
	client             dynamodb.HTTPClient
	calls, cut, hidden atomic.Int64

	mu   sync.Mutex
	seen map[string]bool
}

var errCut = errors.New("the answer was cut")

// Do implements the SDK's HTTPClient. Each third transaction is written and its answer lost.
// Each second message is not seen by the first Query that meets it.
func (f *faults) Do(r *http.Request) (*http.Response, error) {
	response, err := f.client.Do(r)
	if err != nil {
		return nil, err
	}
	switch operation := r.Header.Get("X-Amz-Target"); {
	case strings.HasSuffix(operation, ".TransactWriteItems") && response.StatusCode == http.StatusOK && f.calls.Add(1)%3 == 0:
		f.cut.Add(1)
		_ = response.Body.Close()
		return nil, errCut
	case strings.HasSuffix(operation, ".Query") && response.StatusCode == http.StatusOK:
		return f.hide(response)
	}
	return response, nil
}

func (f *faults) hide(response *http.Response) (*http.Response, error) {
	raw, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	var answer map[string]any
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, err
	}
	shown := []any{}
	items, _ := answer["Items"].([]any)
	for _, i := range items {
		if !f.hides(fmt.Sprint(i)) {
			shown = append(shown, i)
		}
	}
	answer["Items"] = shown
	if raw, err = json.Marshal(answer); err != nil {
		return nil, err
	}
	response.Header.Del("X-Amz-Crc32")
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	return response, nil
}

// hides reports whether an item that is met for the first time is not shown.
func (f *faults) hides(i string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen[i] {
		return false
	}
	f.seen[i] = true
	if len(f.seen)%2 == 0 {
		return false
	}
	f.hidden.Add(1)
	return true
}

// TestFaults_NothingTwiceAndInOrder: a message whose transaction's answer was lost is
// there once, and a key comes in its order although a Query sees the later message first.
func TestFaults_NothingTwiceAndInOrder(t *testing.T) {
	t.Parallel()
	_, env := newOutbox(t, 2)
	client, closeIdle := connect(env.URL)
	t.Cleanup(closeIdle)
	options := client.Options()
	f := &faults{client: options.HTTPClient, seen: make(map[string]bool)}
	options.HTTPClient = f
	ob, err := dynamooutbox.New(dynamodb.New(options), dynamooutbox.Config{Table: env.Prefix + "outbox"})
	require.NoError(t, err)

	const writers, each, keys = 3, 20, 2
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range each {
				tx := ob.Begin()
				m := outbox.Message{Topic: "orders", Key: "k" + strconv.Itoa(i%keys), Payload: []byte(fmt.Sprintf("%d/%d", w, i))}
				if err := errors.Join(ob.Enqueue(t.Context(), tx, m), tx.Commit(t.Context())); err != nil {
					t.Errorf("writer %d: %v", w, err)
				}
			}
		})
	}
	group.Wait()
	got := drain(t, ob)
	require.Len(t, got, writers*each, "none lost, none twice")
	last := make(map[string]int64)
	names := make(map[string]bool)
	for _, r := range got {
		require.Greater(t, r.Seq, last[r.Key], "the order of key %s", r.Key)
		last[r.Key] = r.Seq
		names[string(r.Payload)] = true
	}
	require.Len(t, names, writers*each)
	require.Positive(t, f.cut.Load())
	require.Positive(t, f.hidden.Load())
}

// drain reads and settles all that is pending.
func drain(t *testing.T, ob *dynamooutbox.Outbox) []outbox.Record {
	t.Helper()
	src, err := ob.Source(dynamooutbox.SourceConfig{})
	require.NoError(t, err)
	s, err := src.Acquire(t.Context(), leaseTime)
	require.NoError(t, err)
	var got []outbox.Record
	for {
		p, err := s.Read(t.Context(), 7)
		require.NoError(t, err)
		if len(p.Records) == 0 {
			require.False(t, p.Waiting)
			return got
		}
		got = append(got, p.Records...)
		require.NoError(t, s.Advance(t.Context(), p, len(p.Records)))
	}
}

// leaseTime is longer than any test.
const leaseTime = 10 * time.Minute
