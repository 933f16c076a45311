package httpsink_test

import (
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/httpsink"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	for field, cfg := range map[string]httpsink.Config{
		"Timeout":          {Timeout: time.Millisecond},
		"MaxConcurrent":    {MaxConcurrent: -1},
		"LookupEvery":      {LookupEvery: 1},
		"MaxRetryAfter":    {MaxRetryAfter: time.Millisecond},
		"ContentType":      {ContentType: "a\r\nb: c"},
		"UserAgent":        {UserAgent: "ü"},
		"AllowNetworks[0]": {AllowNetworks: []netip.Prefix{{}}},
		"Proxy":            {Proxy: &url.URL{Scheme: "ftp"}},
		"Hooks[0]":         {Hooks: []outbox.Hook{42}},
		"Wrap":             {Wrap: func(http.RoundTripper) http.RoundTripper { return nil }},
	} {
		_, err := httpsink.New(httpsink.Static{}, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, field)
		require.ErrorContains(t, err, field+" = ")
	}
	_, err := httpsink.New(nil, httpsink.Config{})
	require.ErrorContains(t, err, "endpoints")
}

func TestEndpoint_Refused(t *testing.T) {
	t.Parallel()
	const url = "https://example.com/"
	good := []string{secret}
	for field, e := range map[string]httpsink.Endpoint{
		"must begin with https://": {URL: "http://example.com/", Secrets: good},
		"has no host":              {URL: "https:///x", Secrets: good},
		"must have no user":        {URL: "https://a:password@example.com/", Secrets: good},
		"fragment":                 {URL: url + "#a", Secrets: good},
		"cannot be read":           {URL: "https://a:password@%", Secrets: good},
		"Secrets = 0 secrets":      {URL: url},
		"Secrets[1]":               {URL: url, Secrets: []string{secret, "password"}},
		"Concurrency":              {URL: url, Secrets: good, Concurrency: 65},
		"Rate":                     {URL: url, Secrets: good, Rate: math.NaN()},
		"Rate = -1":                {URL: url, Secrets: good, Rate: -1},
		"webhook-id":               {URL: url, Secrets: good, Header: http.Header{"webhook-id": {"x"}}},
		"Leat-Key":                 {URL: url, Secrets: good, Header: http.Header{"Leat-Key": {"x"}}},
		"Content-Length":           {URL: url, Secrets: good, Header: http.Header{"Content-Length": {"x"}}},
	} {
		_, err := httpsink.New(httpsink.Static{"billing": e}, httpsink.Config{})
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, field)
		require.ErrorContains(t, err, field)
		require.ErrorContains(t, err, `endpoints["billing"]`)
		require.NotContains(t, err.Error(), "password")
	}
}
