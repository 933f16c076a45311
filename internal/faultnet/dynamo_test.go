package faultnet_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
)

// server answers every request with what it says, and remembers what it was asked.
type server struct {
	answer string
	asked  []string
}

func (s *server) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	s.asked = append(s.asked, string(body))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(s.answer)), Request: r}, err
}

func ask(t *testing.T, d *faultnet.Dynamo, operation, body string) (status int, answer string, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1", strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	out, err := d.Do(r)
	if err != nil {
		return 0, "", err
	}
	raw, err := io.ReadAll(out.Body)
	require.NoError(t, err)
	require.NoError(t, out.Body.Close())
	return out.StatusCode, string(raw), nil
}

func TestDynamo_PassesWhatItDoesNotStrike(t *testing.T) {
	t.Parallel()
	s := &server{answer: `{"a":1}`}
	d := &faultnet.Dynamo{Client: s, Conflict: 2, Cut: 2}
	status, answer, err := ask(t, d, "TransactWriteItems", `{"TransactItems":[{},{}]}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, s.answer, answer)
	require.Zero(t, d.Struck(faultnet.DynamoConflict))
}

func TestDynamo_RefusesBeforeTheEffect(t *testing.T) {
	t.Parallel()
	s := &server{answer: "{}"}
	d := &faultnet.Dynamo{Client: s, Conflict: 1, Throttle: 1}
	status, answer, err := ask(t, d, "TransactWriteItems", `{"TransactItems":[{},{}]}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, answer, `"CancellationReasons":[{"Code":"TransactionConflict"},{"Code":"None"}]`)
	status, answer, err = ask(t, d, "Query", "{}")
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, answer, "ProvisionedThroughputExceededException")
	require.Empty(t, s.asked)
}

func TestDynamo_SpoilsAfterTheEffect(t *testing.T) {
	t.Parallel()
	s := &server{answer: "{}"}
	d := &faultnet.Dynamo{Client: s, Cut: 2, Fail: 1}
	status, _, err := ask(t, d, "PutItem", "{}")
	require.NoError(t, err)
	require.Equal(t, http.StatusInternalServerError, status)
	_, _, err = ask(t, d, "PutItem", "{}")
	require.ErrorIs(t, err, faultnet.ErrCut)
	require.Len(t, s.asked, 2)
	status, _, err = ask(t, d, "Query", "{}")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "a read has no effect")
}

func TestDynamo_DoesHalfABatch(t *testing.T) {
	t.Parallel()
	s := &server{answer: `{}`}
	d := &faultnet.Dynamo{Client: s, Partial: 1}
	_, answer, err := ask(t, d, "BatchWriteItem", `{"RequestItems":{"t":[1,2,3]}}`)
	require.NoError(t, err)
	require.JSONEq(t, `{"RequestItems":{"t":[1]}}`, s.asked[0])
	require.JSONEq(t, `{"UnprocessedItems":{"t":[2,3]}}`, answer)
	_, answer, err = ask(t, d, "BatchGetItem", `{"RequestItems":{"t":{"Keys":[1,2]}}}`)
	require.NoError(t, err)
	require.JSONEq(t, `{"RequestItems":{"t":{"Keys":[1]}}}`, s.asked[1])
	require.JSONEq(t, `{"UnprocessedKeys":{"t":{"Keys":[2]}}}`, answer)
	_, answer, err = ask(t, d, "BatchWriteItem", `{"RequestItems":{"t":[1]}}`)
	require.NoError(t, err)
	require.JSONEq(t, `{}`, answer, "one is not a batch")
}

func TestDynamo_HidesFromTheFirstQuery(t *testing.T) {
	t.Parallel()
	s := &server{answer: `{"Items":[{"sk":1,"v":7},{"sk":2,"v":8}]}`}
	d := &faultnet.Dynamo{Client: s, Hide: true, Forget: "v"}
	_, answer, err := ask(t, d, "Query", "{}")
	require.NoError(t, err)
	require.JSONEq(t, `{"Items":[{"sk":1}]}`, answer)
	_, answer, err = ask(t, d, "Query", "{}")
	require.NoError(t, err)
	require.JSONEq(t, `{"Items":[{"sk":1},{"sk":2}]}`, answer)
	require.Equal(t, 1, d.Struck(faultnet.DynamoHide))
}
