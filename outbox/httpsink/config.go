package httpsink

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// Config tunes a Sink. The zero value is a good start.
type Config struct {
	// Timeout bounds one request, up to the end of the answer's headers, 10 ms to 10 m. It ends
	// earlier if the call of Send ends: after relay.Config.PublishTimeout, 5 s by default. No
	// request begins in the last third of that time. Receivers often need more: set
	// PublishTimeout to one and a half times Timeout. Defaults to 15 s.
	Timeout time.Duration

	// MaxConcurrent is the number of requests that the Sink makes at the same time for
	// all endpoints, 1 to 10,000. Defaults to 256.
	MaxConcurrent int

	// LookupEvery is how long the answer of Endpoints is used, 1 ms or more. Until then the
	// Sink does not see a change, unless Refresh is called. Defaults to 1 m.
	LookupEvery time.Duration

	// MaxRetryAfter bounds the wait that an endpoint can ask for by Retry-After, 1 s or
	// more. Defaults to 1 h.
	MaxRetryAfter time.Duration

	// AllowHTTP allows URLs that begin with http://, whose requests can be read on the network.
	// Defaults to false.
	AllowHTTP bool

	// AllowNetworks are networks that may be connected to although they are private, local or
	// reserved, such as 10.1.0.0/16 for your own services. Defaults to none.
	AllowNetworks []netip.Prefix

	// Proxy is a proxy through which all connections are made: http, https or socks5. It resolves
	// names, so the proxy must refuse private networks, as egress proxies do; the Sink only
	// refuses addresses written in a URL. The environment's proxy is never used. Defaults to
	// none.
	Proxy *url.URL

	// TLS is for client certificates and certificate authorities. It is cloned. Defaults to that
	// of crypto/tls.
	TLS *tls.Config

	// Wrap wraps the transport that makes the requests, for example to trace them. It must not
	// follow redirects. Defaults to none.
	Wrap func(http.RoundTripper) http.RoundTripper

	// ContentType is the content type of messages without a header "content-type". Defaults to
	// "application/json".
	ContentType string

	// UserAgent names the sender. Defaults to "leat".
	UserAgent string

	// Classify returns what an answer with this status means, other than 2xx and 410.
	// FailureOutage stops the endpoint, FailurePermanent gives the record up, and any other kind
	// counts as a failed attempt at the record, which is tried again while its key waits. It is
	// called from many goroutines. Defaults to DefaultClassify.
	Classify func(status int) outbox.FailureKind

	// Logger receives messages for operators. Defaults to slog.Default() as of New, warnings and
	// errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger

	// Hooks observe the Sink, by RequestHook and GoneHook. Defaults to none.
	Hooks []outbox.Hook
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 15*time.Second)
	c.MaxConcurrent = cmp.Or(c.MaxConcurrent, 256)
	c.LookupEvery = cmp.Or(c.LookupEvery, time.Minute)
	c.MaxRetryAfter = cmp.Or(c.MaxRetryAfter, time.Hour)
	c.ContentType = cmp.Or(c.ContentType, "application/json")
	c.UserAgent = cmp.Or(c.UserAgent, "leat")
	if c.Classify == nil {
		c.Classify = DefaultClassify
	}
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	switch {
	case c.Timeout < 10*time.Millisecond || c.Timeout > 10*time.Minute:
		return outbox.ConfigError("Timeout", c.Timeout, "must be 10 ms to 10 m")
	case c.MaxConcurrent < 1 || c.MaxConcurrent > 10_000:
		return outbox.ConfigError("MaxConcurrent", c.MaxConcurrent, "must be 1 to 10000")
	case c.LookupEvery < time.Millisecond:
		return outbox.ConfigError("LookupEvery", c.LookupEvery, "must be 1 ms or more")
	case c.MaxRetryAfter < time.Second:
		return outbox.ConfigError("MaxRetryAfter", c.MaxRetryAfter, "must be 1 s or more")
	}
	for name, value := range map[string]string{"ContentType": c.ContentType, "UserAgent": c.UserAgent} {
		if !validValue(value) {
			return outbox.ConfigError(name, fmt.Sprintf("%.200q", value), "is not a value of an HTTP header")
		}
	}
	for i, prefix := range c.AllowNetworks {
		if !prefix.IsValid() {
			return outbox.ConfigError(fmt.Sprintf("AllowNetworks[%d]", i), prefix, "is not a network")
		}
	}
	if c.Proxy != nil {
		switch c.Proxy.Scheme {
		case "http", "https", "socks5":
		default:
			return outbox.ConfigError("Proxy", c.Proxy.Redacted(), "must begin with http://, https:// or socks5://")
		}
	}
	return hooks.Refuse(c.Hooks, "httpsink", hooks.Is[RequestHook], hooks.Is[GoneHook])
}
