package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/webhook"
	"github.com/leat-go/leat/internal/webhooks"
	"github.com/leat-go/leat/outbox"
)

// The example of the specification's libraries.
const (
	standardSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	standardID     = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	standardBody   = `{"test": 2432232314}`
	standardTime   = 1614265330
	standardValue  = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func request(body string, header ...string) webhook.Request {
	r := webhook.Request{Header: http.Header{}, Body: []byte(body), At: time.Unix(standardTime, 0), Tolerance: 5 * time.Minute}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func standardRequest() webhook.Request {
	return request(standardBody, "webhook-id", standardID, "webhook-timestamp", strconv.Itoa(standardTime), "webhook-signature", standardValue)
}

func hexHMAC(secret, text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// TestSpecification: what the libraries of Standard Webhooks demand of one another.
func TestSpecification(t *testing.T) {
	t.Parallel()
	const other = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
	for name, c := range map[string]struct {
		change func(r *webhook.Request)
		want   error
	}{
		"valid":                       {func(*webhook.Request) {}, nil},
		"missing id":                  {func(r *webhook.Request) { r.Header.Del("webhook-id") }, webhook.ErrMalformed},
		"missing timestamp":           {func(r *webhook.Request) { r.Header.Del("webhook-timestamp") }, webhook.ErrMalformed},
		"missing signature":           {func(r *webhook.Request) { r.Header.Del("webhook-signature") }, webhook.ErrUnverified},
		"invalid timestamp":           {func(r *webhook.Request) { r.Header.Set("webhook-timestamp", "hello") }, webhook.ErrMalformed},
		"invalid signature":           {func(r *webhook.Request) { r.Header.Set("webhook-signature", other) }, webhook.ErrUnverified},
		"partial signature":           {func(r *webhook.Request) { r.Header.Set("webhook-signature", standardValue[:8]) }, webhook.ErrUnverified},
		"empty signature":             {func(r *webhook.Request) { r.Header.Set("webhook-signature", "v1,") }, webhook.ErrUnverified},
		"old timestamp":               {func(r *webhook.Request) { r.At = r.At.Add(5*time.Minute + time.Second) }, webhook.ErrUnverified},
		"new timestamp":               {func(r *webhook.Request) { r.At = r.At.Add(-5*time.Minute - time.Second) }, webhook.ErrUnverified},
		"within tolerance":            {func(r *webhook.Request) { r.At = r.At.Add(5 * time.Minute) }, nil},
		"several signatures":          {func(r *webhook.Request) { r.Header.Set("webhook-signature", other+" v2,x "+standardValue+" "+other) }, nil},
		"other timestamp":             {func(r *webhook.Request) { r.Header.Set("webhook-timestamp", "1614265331") }, webhook.ErrUnverified},
		"same time written otherwise": {func(r *webhook.Request) { r.Header.Set("webhook-timestamp", "01614265330") }, webhook.ErrUnverified},
		"other id":                    {func(r *webhook.Request) { r.Header.Set("webhook-id", standardID+"x") }, webhook.ErrUnverified},
		"other body":                  {func(r *webhook.Request) { r.Body = append(r.Body, ' ') }, webhook.ErrUnverified},
		"signatures in two headers": {func(r *webhook.Request) {
			r.Header["Webhook-Signature"] = []string{other, standardValue}
		}, nil},
		"headers joined by a proxy": {func(r *webhook.Request) { r.Header.Set("webhook-signature", other+", "+standardValue) }, nil},
		"two ids":                   {func(r *webhook.Request) { r.Header.Add("webhook-id", "x") }, webhook.ErrMalformed},
	} {
		for _, secret := range []string{standardSecret, strings.TrimPrefix(standardSecret, "whsec_")} {
			s, err := webhook.Standard(webhooks.NewSecret(), secret)
			require.NoError(t, err)
			r := standardRequest()
			c.change(&r)
			id, kind, err := s.Verify(r)
			if c.want != nil {
				require.ErrorIs(t, err, c.want, name)
				continue
			}
			require.NoError(t, err, name)
			require.Equal(t, [2]string{standardID, ""}, [2]string{id, kind})
		}
	}
}

// TestStandard_ShiftedParts: of a body that begins like a time, part of the id could be
// the timestamp that was signed, and the replay would look new.
func TestStandard_ShiftedParts(t *testing.T) {
	t.Parallel()
	s, err := webhook.Standard(standardSecret)
	require.NoError(t, err)
	known, err := webhooks.ParseSecret(standardSecret)
	require.NoError(t, err)
	secrets := []webhooks.Secret{known}
	const old, now = "1500000000", "1614265330"
	signature := webhooks.Sign(secrets, "order-1", old, []byte(now+".{}"))
	require.Equal(t, signature, webhooks.Sign(secrets, "order-1."+old, now, []byte("{}")), "the signed text is the same")
	_, _, err = s.Verify(request("{}", "webhook-id", "order-1."+old, "webhook-timestamp", now, "webhook-signature", signature))
	require.ErrorIs(t, err, webhook.ErrMalformed)
}

// TestStandard_NamesOfSvix: senders that are older than the specification have other names for
// the same headers. The three are of one kind.
func TestStandard_NamesOfSvix(t *testing.T) {
	t.Parallel()
	s, err := webhook.Standard(standardSecret)
	require.NoError(t, err)
	svix := func() webhook.Request {
		return request(standardBody, "svix-id", standardID, "svix-timestamp", strconv.Itoa(standardTime), "svix-signature", standardValue)
	}
	id, kind, err := s.Verify(svix())
	require.NoError(t, err)
	require.Equal(t, [2]string{standardID, ""}, [2]string{id, kind})
	both := standardRequest()
	both.Header.Set("svix-id", "another")
	id, _, err = s.Verify(both)
	require.NoError(t, err)
	require.Equal(t, standardID, id)
	for name, c := range map[string]struct {
		change func(r *webhook.Request)
		want   error
	}{
		"other id":   {func(r *webhook.Request) { r.Header.Set("svix-id", "another") }, webhook.ErrUnverified},
		"mixed":      {func(r *webhook.Request) { r.Header.Set("webhook-id", standardID) }, webhook.ErrMalformed},
		"two ids":    {func(r *webhook.Request) { r.Header.Add("svix-id", "another") }, webhook.ErrMalformed},
		"no time":    {func(r *webhook.Request) { r.Header.Set("svix-timestamp", "now") }, webhook.ErrMalformed},
		"too old":    {func(r *webhook.Request) { r.At = r.At.Add(time.Hour) }, webhook.ErrUnverified},
		"unsigned":   {func(r *webhook.Request) { r.Header.Del("svix-signature") }, webhook.ErrUnverified},
		"other body": {func(r *webhook.Request) { r.Body = []byte("{}") }, webhook.ErrUnverified},
	} {
		r := svix()
		c.change(&r)
		_, _, err := s.Verify(r)
		require.ErrorIs(t, err, c.want, name)
	}
}

// TestStandard_KeyPairIsNamed: who signs by a key pair alone is told apart from who has
// another secret.
func TestStandard_KeyPairIsNamed(t *testing.T) {
	t.Parallel()
	s, err := webhook.Standard(standardSecret)
	require.NoError(t, err)
	r := standardRequest()
	r.Header.Set("webhook-signature", "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==")
	_, _, err = s.Verify(r)
	require.ErrorIs(t, err, webhook.ErrUnverified)
	require.ErrorContains(t, err, "v1a")
	r.Header.Add("webhook-signature", "v1,AAAA")
	_, _, err = s.Verify(r)
	require.ErrorIs(t, err, webhook.ErrUnverified)
	require.NotContains(t, err.Error(), "v1a")
}

// TestGitHub: the example of GitHub's documentation.
func TestGitHub(t *testing.T) {
	t.Parallel()
	const secret, body = "It's a Secret to Everybody", "Hello, World!"
	const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	s, err := webhook.GitHub("another secret", secret)
	require.NoError(t, err)
	good := func() webhook.Request {
		return request(body, "X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958", "X-GitHub-Event", "push", "X-Hub-Signature-256", signature)
	}
	id, kind, err := s.Verify(good())
	require.NoError(t, err)
	require.Equal(t, [2]string{"72d3162e-cc78-11e3-81ab-4c9367dc0958", "push"}, [2]string{id, kind})
	for name, value := range map[string]string{"X-GitHub-Delivery": "", "X-GitHub-Event": ""} {
		r := good()
		r.Header.Set(name, value)
		_, _, err := s.Verify(r)
		require.ErrorIs(t, err, webhook.ErrMalformed, name)
	}
	for _, value := range []string{"", "sha256=", signature[7:], "sha1=" + signature[7:], signature[:70], signature + "00", "sha256=zz" + signature[9:]} {
		r := good()
		r.Header.Set("X-Hub-Signature-256", value)
		_, _, err := s.Verify(r)
		require.ErrorIs(t, err, webhook.ErrUnverified, value)
	}
	r := good()
	r.Body = append(r.Body, '\n')
	_, _, err = s.Verify(r)
	require.ErrorIs(t, err, webhook.ErrUnverified)
}

const stripeSecret = "whsec_test_secret_of_stripe"

func TestStripe(t *testing.T) {
	t.Parallel()
	s, err := webhook.Stripe("whsec_another", stripeSecret)
	require.NoError(t, err)
	const body = `{"id":"evt_1NG8Du2eZvKYlo2CUI79vXWy","object":"event","type":"setup_intent.created"}`
	v1 := hexHMAC(stripeSecret, fmt.Sprintf("%d.%s", standardTime, body))
	good := fmt.Sprintf("t=%d,v1=%s", standardTime, v1)
	for _, header := range []string{
		good, good + ",v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39", fmt.Sprintf("v1=%s, t=%d", v1, standardTime),
		fmt.Sprintf("t=%d,v1=%s,v1=%s", standardTime, hexHMAC("other", "x"), v1),
	} {
		id, kind, err := s.Verify(request(body, "Stripe-Signature", header))
		require.NoError(t, err, header)
		require.Equal(t, [2]string{"evt_1NG8Du2eZvKYlo2CUI79vXWy", "setup_intent.created"}, [2]string{id, kind})
	}
	for header, want := range map[string]error{
		"":                                    webhook.ErrMalformed,
		"v1=" + v1:                            webhook.ErrMalformed,
		"t":                                   webhook.ErrMalformed,
		good + ",t=1":                         webhook.ErrMalformed,
		"t=x,v1=" + v1:                        webhook.ErrMalformed,
		good + strings.Repeat(",v1=00", 20):   webhook.ErrMalformed,
		fmt.Sprintf("t=%d", standardTime):     webhook.ErrUnverified,
		fmt.Sprintf("t=%d,v1=", standardTime): webhook.ErrUnverified,
		fmt.Sprintf("t=%d,v0=%s", standardTime, v1):   webhook.ErrUnverified,
		fmt.Sprintf("t=%d,v1=%s", standardTime+1, v1): webhook.ErrUnverified,
		fmt.Sprintf("t=%d,v1=%s", standardTime-301, hexHMAC(stripeSecret, fmt.Sprintf("%d.%s", standardTime-301, body))): webhook.ErrUnverified,
	} {
		_, _, err := s.Verify(request(body, "Stripe-Signature", header))
		require.ErrorIs(t, err, want, header)
	}
	for _, body := range []string{"", "[]", "{}", `{"id":7}`, `{"id":""}`, "not JSON"} {
		header := fmt.Sprintf("t=%d,v1=%s", standardTime, hexHMAC(stripeSecret, fmt.Sprintf("%d.%s", standardTime, body)))
		_, _, err := s.Verify(request(body, "Stripe-Signature", header))
		require.ErrorIs(t, err, webhook.ErrMalformed, body)
	}
}

func TestSchemes_Refused(t *testing.T) {
	t.Parallel()
	for name, scheme := range map[string]func(...string) (webhook.Scheme, error){
		"standard": webhook.Standard, "github": webhook.GitHub, "stripe": webhook.Stripe,
	} {
		for _, bad := range [][]string{{}, {""}, {"short"}, {standardSecret, "hunter2"}, make([]string, 9)} {
			_, err := scheme(bad...)
			require.ErrorIs(t, err, outbox.ErrInvalidConfig, name)
			require.NotContains(t, err.Error(), "hunter2")
		}
	}
	_, err := webhook.Standard("not in base64!")
	require.ErrorContains(t, err, "base64")
}

func FuzzStripe(f *testing.F) {
	f.Add("t=1614265330,v1=00,v0=1", `{"id":"evt_1"}`)
	f.Add("t=,v1=,", "")
	s, err := webhook.Stripe(stripeSecret)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, header, body string) {
		r := request(body)
		r.Header["Stripe-Signature"] = []string{header}
		if id, _, err := s.Verify(r); err == nil {
			require.NotEmpty(t, id)
			require.Contains(t, header, "v1=")
			require.Contains(t, strings.ToLower(header), hexHMAC(stripeSecret, timeIn(header)+"."+body))
		} else {
			require.True(t, isKnown(err), err)
		}
	})
}

func timeIn(header string) string {
	for part := range strings.SplitSeq(header, ",") {
		if text, ok := strings.CutPrefix(strings.TrimSpace(part), "t="); ok {
			return text
		}
	}
	return ""
}

func FuzzStandard(f *testing.F) {
	f.Add(standardID, strconv.Itoa(standardTime), standardValue, standardBody)
	s, err := webhook.Standard(standardSecret)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, id, timestamp, signature, body string) {
		r := request(body)
		r.Header["Webhook-Id"], r.Header["Webhook-Timestamp"], r.Header["Webhook-Signature"] = []string{id}, []string{timestamp}, []string{signature}
		if _, _, err := s.Verify(r); err == nil {
			require.Equal(t, standardID+standardBody, id+body, "nobody has signed anything else")
		} else {
			require.True(t, isKnown(err), err)
		}
	})
}
