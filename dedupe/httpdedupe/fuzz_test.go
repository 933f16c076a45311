package httpdedupe

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzKey: a header is a key of visible characters within its bound, or it is refused;
// the key is the same with quotes and without.
func FuzzKey(f *testing.F) {
	for _, value := range []string{
		`8e03978e-40d5-43dd-bc93-6894a57f9324`, `"8e03978e"`, `"a\"b\\c"`, `"`, `""`, `"a`, `"a"b`, `"a\b"`, " \ta b\t", "", "é", "a\x00", `a"b`, `"a";p=1`,
	} {
		f.Add(value, 255)
	}
	f.Add("aaaa", 3)
	f.Fuzz(func(t *testing.T, value string, most int) {
		key, err := keyOf(http.Header{headerKey: {value}}, most)
		if err != nil {
			require.ErrorIs(t, err, errKey)
			require.LessOrEqual(t, len(err.Error()), 200, "it goes to the client")
			require.Empty(t, key)
			return
		}
		require.NotEmpty(t, key)
		require.LessOrEqual(t, len(key), most)
		require.NotContains(t, strings.Map(visible, key), "\x00")
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		again, err := keyOf(http.Header{headerKey: {quoted}}, most)
		require.NoError(t, err)
		require.Equal(t, key, again)
		_, err = keyOf(http.Header{headerKey: {value, value}}, most)
		require.ErrorIs(t, err, errKey)
	})
}

func visible(r rune) rune {
	if r < ' ' || r > '~' {
		return 0
	}
	return r
}

// FuzzResponse: a response is replayed as it was, byte for byte, in its headers too,
// which need not be UTF-8.
func FuzzResponse(f *testing.F) {
	f.Add(200, "Content-Type", "application/json", "", []byte(`{"a":1}`), true)
	f.Add(201, "Content-Disposition", "attachment; filename=\"\xe9t\xe9.pdf\"", "\xff", []byte("\n\x00"), true)
	f.Add(200, "Link", "\xdd", "\x80", []byte("valid only together"), true)
	f.Add(-1, "\xff", "<&>\u2028", "", []byte(nil), false)
	f.Fuzz(func(t *testing.T, status int, name, v1, v2 string, body []byte, kept bool) {
		want := response{Status: status, Header: http.Header{name: {v1, v2}, "Etag": {v2}}, Kept: kept, body: body}
		if strings.ToValidUTF8(name, "") != name {
			name = "Other" // names come from the configuration
			want.Header = http.Header{name: {v1}}
		}
		stored, err := want.encode()
		require.NoError(t, err)
		got, err := decode(stored)
		require.NoError(t, err)
		require.Equal(t, want.Header, got.Header)
		require.Equal(t, []any{want.Status, want.Kept, string(body)}, []any{got.Status, got.Kept, string(got.body)})
		require.Nil(t, want.Raw, "encode changes nothing")
	})
}

// FuzzReplay: whatever a store gives back is a response that can be sent.
func FuzzReplay(f *testing.F) {
	for _, stored := range []string{
		"", "null", "{}", `{"status":200,"kept":true}` + "\nbody", `{"status":99,"kept":true}`, `{"status":1000,"kept":true}`,
		`{"status":204,"kept":true}` + "\nx", `{"status":200,"kept":true,"header":{"":["x"],"A":null}}`, `{"status":200,"kept":true,"raw_header":{"A":["/w=="]}}`, "[",
	} {
		f.Add([]byte(stored))
	}
	cfg := Config{}.withDefaults(1<<20, keepAnswers)
	f.Fuzz(func(t *testing.T, stored []byte) {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", http.NoBody)
		cfg.replay(w, r, stored)
		result := w.Result()
		require.NoError(t, result.Body.Close())
		if result.Header.Get(replayedHeader) == "" {
			require.Equal(t, http.StatusGone, result.StatusCode)
			return
		}
		require.True(t, 200 <= result.StatusCode && result.StatusCode <= 999)
		require.Equal(t, "true", result.Header.Get(replayedHeader))
	})
}

// TestBodyWithoutABound: the greatest bound is none, and the handler gets the body.
func TestBodyWithoutABound(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("body"))
	read, p := rules{Config: Config{MaxBodyBytes: math.MaxInt64}}.read(r)
	require.Nil(t, p)
	require.Equal(t, "body", string(read))
	again, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Equal(t, "body", string(again))
}
