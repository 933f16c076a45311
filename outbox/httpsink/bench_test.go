package httpsink_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/httpsink"
)

const benchKeys = 8

// bareClient sends records as the sink does, by net/http alone: signed, one of each key at a time, and
// no redirect is followed.
type bareClient struct {
	client *http.Client
	url    string
	secret []byte
}

func (c bareClient) send(ctx context.Context, records []outbox.Record) error {
	errs := make([]error, benchKeys)
	var lanes sync.WaitGroup
	for n := range benchKeys {
		lanes.Go(func() {
			for i := n; i < len(records) && errs[n] == nil; i += benchKeys {
				errs[n] = c.post(ctx, &records[i])
			}
		})
	}
	lanes.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c bareClient) post(ctx context.Context, r *outbox.Record) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(r.Payload))
	if err != nil {
		return err
	}
	now := strconv.FormatInt(time.Now().Unix(), 10)
	sum := hmac.New(sha256.New, c.secret)
	_, _ = io.WriteString(sum, r.ID+"."+now+".")
	_, _ = sum.Write(r.Payload)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "leat", "Webhook-Id": r.ID, "Webhook-Timestamp": now,
		"Webhook-Signature": "v1," + base64.StdEncoding.EncodeToString(sum.Sum(nil)),
		"Leat-Key":          r.Key, "Leat-Event-Time": outbox.FormatEventTime(r.EventTime()),
	} {
		request.Header.Set(name, value)
	}
	answer, err := c.client.Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return err
}

// BenchmarkSend sends pages of 500 records of 512 bytes through the sink and by the bare client, in turns to one
// server of this process. Metric x-bare is the time of the sink by that of the client.
func BenchmarkSend(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer server.Close()
	secret := httpsink.NewSecret()
	s, err := httpsink.New(httpsink.Static{"t": {URL: server.URL, Secrets: []string{secret}}}, httpsink.Config{AllowHTTP: true, AllowNetworks: loopback()})
	require.NoError(b, err)
	defer func() { require.NoError(b, s.Close()) }()
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	require.NoError(b, err)
	transport := &http.Transport{MaxIdleConnsPerHost: benchKeys}
	defer transport.CloseIdleConnections()
	c := bareClient{&http.Client{Transport: transport}, server.URL, raw}
	page := make([]outbox.Record, 500)
	for i := range page {
		page[i] = record(int64(i+1), "key-"+strconv.Itoa(i%benchKeys))
		page[i].Payload = make([]byte, 512)
	}
	all := slices.Repeat([]string{"ok"}, len(page))
	var ours, theirs time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		require.Equal(b, all, kinds(s.Send(b.Context(), page)))
		ours += time.Since(began)
		began = time.Now()
		require.NoError(b, c.send(b.Context(), page))
		theirs += time.Since(began)
	}
	b.ReportMetric(float64(ours)/float64(theirs), "x-bare")
	b.ReportMetric(float64(len(page)*b.N)/ours.Seconds(), "records/s")
}
