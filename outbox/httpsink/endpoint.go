package httpsink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/leat-go/leat/internal/webhooks"
	"github.com/leat-go/leat/outbox"
)

// ErrNoEndpoint is returned by Endpoints for a name that it does not know. Records for it
// are set aside until there is one.
var ErrNoEndpoint = errors.New("leat: no such endpoint")

// ErrOff is wrapped by the error of a record whose endpoint is switched off, or has
// answered 410. It is a permanent failure: the relay's Policy decides about the record.
var ErrOff = errors.New("leat: endpoint is off")

// Endpoint is where the records of a topic are sent.
type Endpoint struct {
	// URL is the address, with https unless Config.AllowHTTP is set, and without a user
	// or a fragment. Required.
	URL string

	// Secrets sign each request, all of them, so that a receiver that knows one of them accepts
	// it: to replace a secret, add the new one to the old one until all receivers know it. 1 to
	// 8, as NewSecret makes them: "whsec_" and 24 to 512 bytes in base64. No two endpoints should
	// share one. Required.
	Secrets []string

	// Off switches the endpoint off: its records fail for good, with ErrOff. With a relay.Policy
	// of DeadLetter or Skip for its topic they do not hold up anything. Defaults to false.
	Off bool

	// Header is sent with each request, for example Authorization. It must not contain headers
	// that the sink sets itself. Defaults to none.
	Header http.Header

	// StandardOnly sends no header of the message but its Content-Type: its key, type, time and
	// headers are withheld from this receiver. Defaults to false: they are sent as headers that
	// begin with "leat-", and those of a trace by their own names.
	StandardOnly bool

	// Concurrency is the number of requests that a Sink makes at the same time, 1 to 64.
	// Records of one key are sent one at a time in any case. Defaults to 8.
	Concurrency int

	// Rate bounds the requests per second that a Sink begins, evenly spaced; 0.001 or more. Other
	// processes have a rate of their own. Defaults to none.
	Rate float64
}

// Endpoints looks up endpoints by their names, which are topics. It is safe for concurrent use.
type Endpoints interface {
	// Endpoint returns the endpoint called name. An error that wraps ErrNoEndpoint means that
	// there is none; any other error counts as an outage of the endpoint. The result is used for
	// Config.LookupEvery, and must not be changed.
	Endpoint(ctx context.Context, name string) (Endpoint, error)
}

// Static is an Endpoints that does not change. New checks all of it.
type Static map[string]Endpoint

// Endpoint implements Endpoints.
func (s Static) Endpoint(_ context.Context, name string) (Endpoint, error) {
	e, ok := s[name]
	if !ok {
		return Endpoint{}, ErrNoEndpoint
	}
	return e, nil
}

// NewSecret returns a new secret for Endpoint.Secrets: 32 random bytes.
func NewSecret() string { return webhooks.NewSecret() }

// target is an Endpoint that was checked.
type target struct {
	Endpoint

	secrets []webhooks.Secret
}

const (
	defaultConcurrency = 8
	maxConcurrency     = 64
	maxSecrets         = 8
	minRate            = 0.001
)

// ready checks e. The error wraps outbox.ErrInvalidConfig and shows no secret.
func (c Config) ready(e Endpoint) (*target, error) {
	t := &target{Endpoint: e}
	t.Concurrency = cmp.Or(t.Concurrency, defaultConcurrency)
	switch {
	case t.Concurrency < 1 || t.Concurrency > maxConcurrency:
		return nil, outbox.ConfigError("Concurrency", t.Concurrency, fmt.Sprintf("must be 1 to %d", maxConcurrency))
	case t.Rate != 0 && (t.Rate < minRate || math.IsNaN(t.Rate) || math.IsInf(t.Rate, 0)):
		return nil, outbox.ConfigError("Rate", t.Rate, fmt.Sprintf("must be %g or more, or 0 for none", minRate))
	case len(e.Secrets) < 1 || len(e.Secrets) > maxSecrets:
		return nil, outbox.ConfigError("Secrets", strconv.Itoa(len(e.Secrets))+" secrets", fmt.Sprintf("must be 1 to %d", maxSecrets))
	}
	for i, text := range e.Secrets {
		secret, err := webhooks.ParseSecret(text)
		if err != nil {
			return nil, outbox.ConfigError(fmt.Sprintf("Secrets[%d]", i), "…", err.Error())
		}
		t.secrets = append(t.secrets, secret)
	}
	if name := reserved(e.Header); name != "" {
		return nil, outbox.ConfigError("Header", strconv.Quote(name), "is set by the sink or by HTTP")
	}
	return t, c.readyURL(t)
}

// readyURL checks the URL of t.
func (c Config) readyURL(t *target) error {
	u, err := url.Parse(t.URL)
	if err != nil {
		return outbox.ConfigError("URL", "…", "cannot be read") // its error quotes passwords
	}
	shown := strconv.Quote(u.Redacted())
	switch {
	case u.Scheme != "https" && (u.Scheme != "http" || !c.AllowHTTP):
		return outbox.ConfigError("URL", shown, "must begin with https://, or with http:// if AllowHTTP is set")
	case u.Hostname() == "":
		return outbox.ConfigError("URL", shown, "has no host")
	case u.User != nil:
		return outbox.ConfigError("URL", shown, "must have no user: set Header instead")
	case u.Fragment != "":
		return outbox.ConfigError("URL", shown, "must have no fragment")
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
		if err := c.refuse(addr); err != nil {
			return outbox.ConfigError("URL", shown, err.Error())
		}
	}
	return nil
}

// reserved returns a name of h that an endpoint must not set, or "".
func reserved(h http.Header) string {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		switch canonical := http.CanonicalHeaderKey(name); canonical {
		case webhooks.HeaderID, webhooks.HeaderTimestamp, webhooks.HeaderSignature, "Host", "Content-Length", "Content-Type",
			"Transfer-Encoding", "Connection", "Trailer", "Upgrade", "Te", "Expect", "Accept-Encoding":
			return name
		default:
			if strings.HasPrefix(canonical, "Leat-") {
				return name
			}
		}
	}
	return ""
}
