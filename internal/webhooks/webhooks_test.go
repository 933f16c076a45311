package webhooks_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/webhooks"
)

// The example that the libraries of the specification share in their tests.
const (
	vectorSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorTimestamp = "1614265330"
	vectorBody      = `{"test": 2432232314}`
	vectorSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	otherSignature  = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
)

func secrets(t *testing.T, texts ...string) []webhooks.Secret {
	t.Helper()
	all := make([]webhooks.Secret, len(texts))
	for i, text := range texts {
		s, err := webhooks.ParseSecret(text)
		require.NoError(t, err)
		all[i] = s
	}
	return all
}

func TestSpecification_Sign(t *testing.T) {
	t.Parallel()
	require.Equal(t, vectorTimestamp, webhooks.Timestamp(time.Unix(1614265330, 999)))
	for _, secret := range []string{vectorSecret, strings.TrimPrefix(vectorSecret, "whsec_")} {
		require.Equal(t, vectorSignature, webhooks.Sign(secrets(t, secret), vectorID, vectorTimestamp, []byte(vectorBody)))
	}
}

func TestSpecification_Verify(t *testing.T) {
	t.Parallel()
	known := secrets(t, vectorSecret)
	for header, want := range map[string]bool{
		vectorSignature: true,
		strings.Join([]string{otherSignature, "v2," + otherSignature[3:], vectorSignature, otherSignature}, " "): true,
		otherSignature:                           false,
		"v2," + vectorSignature[3:]:              false,
		vectorSignature[:8]:                      false,
		"v1,":                                    false,
		"v1,dawfeoifkpqwoekfpqoekf":              false,
		"":                                       false,
		vectorSignature[:len(vectorSignature)-1]: false,
		strings.ToUpper(vectorSignature):         false,
		strings.Repeat(otherSignature+" ", 32) + vectorSignature: false, // beyond the bound
		strings.Repeat("v9,x ", 1000) + vectorSignature:          true,
	} {
		require.Equal(t, want, webhooks.Verify(known, vectorID, vectorTimestamp, []byte(vectorBody), header), header)
	}
	for _, changed := range [][3]string{
		{vectorID + "x", vectorTimestamp, vectorBody},
		{vectorID, "1614265331", vectorBody},
		{vectorID, vectorTimestamp, vectorBody + " "},
		{vectorID, vectorTimestamp, ""},
	} {
		require.False(t, webhooks.Verify(known, changed[0], changed[1], []byte(changed[2]), vectorSignature), changed)
	}
}

// TestRotation: sender and receiver change secrets at different times.
func TestRotation(t *testing.T) {
	t.Parallel()
	before, after, wrong := webhooks.NewSecret(), webhooks.NewSecret(), webhooks.NewSecret()
	sign := func(texts ...string) string {
		return webhooks.Sign(secrets(t, texts...), vectorID, vectorTimestamp, []byte(vectorBody))
	}
	verify := func(header string, texts ...string) bool {
		return webhooks.Verify(secrets(t, texts...), vectorID, vectorTimestamp, []byte(vectorBody), header)
	}
	require.True(t, verify(sign(before, after), before))
	require.True(t, verify(sign(before, after), after))
	require.True(t, verify(sign(before), after, before))
	require.False(t, verify(sign(before, after), wrong))
	require.False(t, verify(sign(wrong), before, after))
	require.False(t, verify(sign(wrong)))
}

func TestParseSecret(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "whsec_", "whsec_not base64", "whsec_c2hvcnQ=", "whsec_" + strings.Repeat("YWFh", 200)} {
		_, err := webhooks.ParseSecret(bad)
		require.Error(t, err, bad)
		if len(bad) > 6 {
			require.NotContains(t, err.Error(), bad[6:])
		}
	}
	s := secrets(t, vectorSecret)
	require.Equal(t, "[whsec_…]", fmt.Sprint(s))
	require.NotContains(t, fmt.Sprintf("%#v %+v", s, s), "MfKQ")
	first, second := webhooks.NewSecret(), webhooks.NewSecret()
	require.NotEqual(t, first, second)
	require.NotEqual(t, secrets(t, first), secrets(t, second))
}

func TestParseTimestamp(t *testing.T) {
	t.Parallel()
	at, ok := webhooks.ParseTimestamp(vectorTimestamp)
	require.True(t, ok)
	require.Equal(t, int64(1614265330), at.Unix())
	for _, bad := range []string{"", "hello", "-1", "+1", "1.5", " 1", "1 ", "0x1", "123456789012", "١"} {
		_, ok := webhooks.ParseTimestamp(bad)
		require.False(t, ok, bad)
	}
}

// TestIDOf: an id that HTTP would change, or that the specification forbids, becomes the
// UUID under which an inbox remembers it anyway.
func TestIDOf(t *testing.T) {
	t.Parallel()
	for _, same := range []string{"0190b5a2-7c1e-7000-8000-000000000001", "order-1", "a_b:c/d"} {
		require.Equal(t, same, webhooks.IDOf(same))
	}
	for _, other := range []string{"order.1", "bestellung-ü", "a b", " a", "a\r\nb", "a,b"} {
		id := webhooks.IDOf(other)
		require.NotContains(t, id, ".")
		want, _ := ids.Map(other)
		got, canonical := ids.Map(id)
		require.True(t, canonical)
		require.Equal(t, want, got)
	}
}

// TestMeta_ComesBackAsItWent: whatever the headers of a message are.
func TestMeta_ComesBackAsItWent(t *testing.T) {
	t.Parallel()
	names := rapid.OneOf(
		rapid.SampledFrom([]string{"tenant", "event-type", "leat_key", "key", "headers", "Key", "traceparent", "baggage", "Tenant", "content-type", "host", "webhook-id"}),
		rapid.StringN(1, 8, 32),
	)
	values := rapid.OneOf(rapid.SampledFrom([]string{"", "a", " a", "a ", "ü", "a\r\nb", "a\tb", "a, b"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		headers := rapid.MapOfN(names, values, 0, 8).Draw(t, "headers")
		h := make(http.Header)
		require.NoError(t, webhooks.Encode(h, headers))
		var wire strings.Builder
		require.NoError(t, h.Write(&wire))
		for name, values := range h {
			require.Len(t, values, 1)
			trace := name == "Traceparent" || name == "Tracestate" || name == "Baggage"
			require.True(t, trace || strings.HasPrefix(name, "Leat-"), name)
			require.Contains(t, wire.String(), name+": "+values[0]+"\r\n", "HTTP has changed it")
		}
		back, err := webhooks.Decode(h)
		require.NoError(t, err)
		require.Equal(t, headers, back)
	})
}

func TestMeta_Malformed(t *testing.T) {
	t.Parallel()
	for text, h := range map[string]http.Header{
		"2 times":     {"Leat-Tenant": {"a", "b"}},
		"base64":      {"Leat-Headers": {"?"}},
		"JSON":        {"Leat-Headers": {"bm9uZQ=="}},
		"comes twice": {"Leat-Headers": {"eyJ0ZW5hbnQiOiJiIn0="}, "Leat-Tenant": {"a"}},
	} {
		_, err := webhooks.Decode(h)
		if text == "JSON" {
			text = "invalid character"
		}
		require.ErrorContains(t, err, text)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(vectorSignature, vectorID, vectorTimestamp, vectorBody)
	f.Add("v1, v1,= v1a,x  v2", "", "0", "")
	f.Add(otherSignature, "a.1", "2", "b")
	known, err := webhooks.ParseSecret(vectorSecret)
	require.NoError(f, err)
	all := []webhooks.Secret{known}
	f.Fuzz(func(t *testing.T, header, id, timestamp, body string) {
		// Whatever verifies has the one signature that Sign makes.
		signature := webhooks.Sign(all, id, timestamp, []byte(body))
		if webhooks.Verify(all, id, timestamp, []byte(body), header) {
			require.Contains(t, strings.Fields(header), signature)
		}
		require.True(t, webhooks.Verify(all, id, timestamp, []byte(body), signature))
		if at, ok := webhooks.ParseTimestamp(timestamp); ok && timestamp[0] != '0' {
			require.Equal(t, timestamp, webhooks.Timestamp(at))
		}
	})
}

func FuzzMeta(f *testing.F) {
	f.Add("Leat-Headers", "e30=")
	f.Add("Leat-Key", "customer-7")
	f.Add("Leat-", "\xe5")
	f.Fuzz(func(t *testing.T, name, value string) {
		h := http.Header{name: {value}}
		headers, err := webhooks.Decode(h)
		if err != nil {
			return
		}
		again := make(http.Header)
		require.NoError(t, webhooks.Encode(again, headers))
		back, err := webhooks.Decode(again)
		require.NoError(t, err)
		require.Equal(t, headers, back)
	})
}
