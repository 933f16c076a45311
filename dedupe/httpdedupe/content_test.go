package httpdedupe_test

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe/httpdedupe"
)

// form is a form as a browser sends it, with a boundary of its own.
func form(t *testing.T, boundary string, fields ...string) (contentType, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	require.NoError(t, w.SetBoundary(boundary))
	for i := 0; i < len(fields); i += 2 {
		file, err := w.CreateFormFile(fields[i], fields[i]+".txt")
		require.NoError(t, err)
		_, err = file.Write([]byte(fields[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return w.FormDataContentType(), b.String()
}

// statuses sends requests with one key, as pairs of type and body, and returns the statuses.
func statuses(t *testing.T, url string, requests ...string) (all []int) {
	t.Helper()
	for i := 0; i < len(requests); i += 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(requests[i+1]))
		require.NoError(t, err)
		req.Header.Set("Idempotency-Key", "k")
		req.Header.Set("X-Tenant", "a")
		req.Header.Set("Content-Type", requests[i])
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		all = append(all, resp.StatusCode)
	}
	return all
}

func created(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }

// TestD6_MultipartRepeat: a form that is sent again has another boundary. Any other difference
// counts.
func TestD6_MultipartRepeat(t *testing.T) {
	t.Parallel()
	firstType, first := form(t, "one", "a", "1", "b", "2")
	againType, again := form(t, "another", "a", "1", "b", "2")
	for name, c := range map[string]struct {
		contentType, body string
		want              int
	}{
		"another boundary": {againType, again, http.StatusCreated},
		"the same":         {firstType, first, http.StatusCreated},
		"another value":    {firstType, strings.Replace(first, "2", "3", 1), http.StatusUnprocessableEntity},
		"another file":     {firstType, strings.Replace(first, "a.txt", "c.txt", 1), http.StatusUnprocessableEntity},
		"another type":     {strings.Replace(firstType, "form-data", "mixed", 1), first, http.StatusUnprocessableEntity},
		"cut off":          {firstType, first[:len(first)-10], http.StatusUnprocessableEntity},
		"no form":          {"text/plain", first, http.StatusUnprocessableEntity},
	} {
		url := serve(t, created, httpdedupe.Config{})
		require.Equal(t, []int{http.StatusCreated, c.want}, statuses(t, url, firstType, first, c.contentType, c.body), name)
	}
	moreType, more := form(t, "one", "a", "1", "b", "2", "c", "3")
	orderType, order := form(t, "one", "b", "2", "a", "1")
	for _, other := range [][]string{{moreType, more}, {orderType, order}} {
		url := serve(t, created, httpdedupe.Config{})
		require.Equal(t, []int{http.StatusCreated, http.StatusUnprocessableEntity},
			statuses(t, url, firstType, first, other[0], other[1]))
	}
}

// TestConfig_Fingerprint: the service chooses what a repeat may change, except method and path.
func TestConfig_Fingerprint(t *testing.T) {
	t.Parallel()
	url := serve(t, created, httpdedupe.Config{Fingerprint: func(_ *http.Request, body []byte) []byte {
		var value any
		if json.Unmarshal(body, &value) != nil {
			return body
		}
		sorted, _ := json.Marshal(value)
		return sorted
	}})
	const kind = "application/json"
	require.Equal(t, []int{http.StatusCreated, http.StatusCreated, http.StatusUnprocessableEntity},
		statuses(t, url, kind, `{"a":1,"b":2}`, kind, `{"b":2, "a":1}`, kind, `{"a":1,"b":3}`))
	require.Equal(t, []int{http.StatusCreated}, statuses(t, url+"/?page=2", kind, `{"a":1,"b":2}`), "it leaves the query out")
	require.Equal(t, []int{http.StatusUnprocessableEntity}, statuses(t, url+"/other", kind, `{"a":1,"b":2}`))
}
