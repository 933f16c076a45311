package httpdedupe

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// maxKeyBytes and maxScopeBytes keep a scope and a key within what a store takes as an id.
const (
	maxKeyBytes   = 480
	maxScopeBytes = 512
)

// Config tunes New and NewTx. The zero value is a good start.
type Config struct {
	// Required answers requests without a key with 400. Defaults to false: they
	// pass through to the handler, unprotected and untouched.
	Required bool

	// Methods are the methods whose requests may have a key; those of others pass through. Safe
	// methods are refused. Defaults to POST, PUT, PATCH and DELETE.
	Methods []string

	// MaxKeyBytes bounds a key, 1 to 480. Defaults to 255.
	MaxKeyBytes int

	// MaxBodyBytes bounds the body of a request that has a key, which is read into
	// memory before the handler runs; larger ones are answered with 413.
	// Defaults to 1 MiB.
	MaxBodyBytes int64

	// MaxResponseBytes bounds the body of a response that is kept. It is held back until then.
	// With New, a larger one is streamed through and not kept; with NewTx it fails the request.
	// The store has a bound too; that of redisdedupe includes the headers. Defaults to 60 KiB
	// with New, to 1 MiB with NewTx.
	MaxResponseBytes int

	// Headers are the names of the response's headers that repeats get too. Set-Cookie,
	// hop-by-hop headers, Content-Length and Date are refused. Named headers that an outer
	// middleware has set are replayed as they were; other headers are as that middleware sets
	// them for the repeat. Defaults to DefaultHeaders.
	Headers []string

	// AnyHost leaves the request's host, less its port, out of its fingerprint, for a service
	// that clients call by several names. A request that is repeated under another name then
	// counts as a repeat, not as a key that was used for another request (422). Tenants that
	// differ by their host need a scope that distinguishes them. Defaults to false.
	AnyHost bool

	// Fingerprint returns what must be the same in all repeats of a request, in addition to its
	// method, host and path. It is made from the query, r.URL.RawQuery, and body, which it must
	// not change. The result may be as long as the body. A key that comes with a different
	// fingerprint was used for another request (422). Fingerprint must not read r.Body, and must
	// be safe for concurrent use. Set it if your clients do not repeat requests byte for byte,
	// for example if they reorder the members of JSON objects. Defaults to the query and the
	// body; of a multipart body to its parts, with their headers, since browsers choose another
	// boundary each time.
	Fingerprint func(r *http.Request, body []byte) []byte

	// Admit is called for each request that has a key, repeats included, before its body is read
	// and anything is stored. Each new key is a record of up to MaxResponseBytes that is kept for
	// the store's TTL, so one tenant could fill the store. If Admit returns an error, the request
	// is answered with 429. It must be safe for concurrent use. A rate limiter by scope, which is
	// the tenant, is a good choice. Defaults to none: nothing is bounded.
	Admit func(r *http.Request, scope string) error

	// Keep reports whether a response with that status is kept. Otherwise the key is released, or
	// with NewTx the transaction is rolled back, and a repeat runs the handler again. Defaults to
	// all below 500 except 401, 403, 408, 425 and 429 with New, and to all below 400 with NewTx.
	Keep func(status int) bool

	// FinishTimeout bounds the commit and the rollback of NewTx, which go on when
	// the client has gone. New has the Processor's.
	// Defaults to 5 s.
	FinishTimeout time.Duration

	// AfterCommit is called by NewTx after each commit, before the response is
	// written; it should return at once. Give it the outbox's Wake.
	// Defaults to none.
	AfterCommit func()

	// WriteProblem writes a response of the middleware's own, with p's status. Retry-After is
	// already set if p has one. Defaults to application/problem+json of RFC 9457.
	WriteProblem func(w http.ResponseWriter, r *http.Request, p Problem)

	// Logger receives what an operator should know. Defaults to slog.Default() as of
	// New, warnings and errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

func (c Config) withDefaults(maxResponse int, keep func(int) bool) Config {
	if c.Methods == nil {
		c.Methods = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	}
	c.MaxKeyBytes = cmp.Or(c.MaxKeyBytes, 255)
	c.MaxBodyBytes = cmp.Or(c.MaxBodyBytes, 1<<20)
	c.MaxResponseBytes = cmp.Or(c.MaxResponseBytes, maxResponse)
	if c.Headers == nil {
		c.Headers = DefaultHeaders()
	}
	if c.Keep == nil {
		c.Keep = keep
	}
	if c.Fingerprint == nil {
		c.Fingerprint = content
	}
	c.FinishTimeout = cmp.Or(c.FinishTimeout, 5*time.Second)
	if c.WriteProblem == nil {
		c.WriteProblem = writeProblem
	}
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	for _, method := range c.Methods {
		switch method {
		case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, "":
			return outbox.ConfigError("Methods", strconv.Quote(method), "must not name a safe method")
		}
	}
	for _, name := range c.Headers {
		if name == "" || slices.Contains(neverKept(), http.CanonicalHeaderKey(name)) {
			return outbox.ConfigError("Headers", strconv.Quote(name), "must not be repeated")
		}
	}
	switch {
	case c.MaxKeyBytes < 1 || c.MaxKeyBytes > maxKeyBytes:
		return outbox.ConfigError("MaxKeyBytes", c.MaxKeyBytes, fmt.Sprintf("must be 1 to %d", maxKeyBytes))
	case c.MaxBodyBytes < 0:
		return outbox.ConfigError("MaxBodyBytes", c.MaxBodyBytes, "must not be negative")
	case c.MaxResponseBytes < 0:
		return outbox.ConfigError("MaxResponseBytes", c.MaxResponseBytes, "must not be negative")
	case c.FinishTimeout < 0:
		return outbox.ConfigError("FinishTimeout", c.FinishTimeout, "must not be negative")
	default:
		return nil
	}
}

// DefaultHeaders returns the headers that repeats get: those that describe the body, and those
// that tell browsers and caches how it may be used. Without the latter a replayed response would
// be less protected than the first. CORS headers are not included, since they depend on the
// origin of the request: set them in an outer middleware.
func DefaultHeaders() []string {
	return []string{
		"Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition", "Etag", "Link", "Location",
		"Cache-Control", "Content-Security-Policy", "Content-Security-Policy-Report-Only", "Cross-Origin-Embedder-Policy",
		"Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy", "Expires", "Permissions-Policy", "Pragma",
		"Referrer-Policy", "Strict-Transport-Security", "Vary", "X-Content-Type-Options", "X-Frame-Options",
	}
}

// neverKept returns the headers that belong to one response only: cookies, those that describe
// the connection, and those that net/http writes itself.
func neverKept() []string {
	return []string{
		"Set-Cookie", "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Date", replayedHeader,
	}
}

// keepAnswers is the Keep of New. A request that is refused because of the caller's identity, or
// temporarily, may succeed when it is repeated.
func keepAnswers(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	default:
		return status < http.StatusInternalServerError
	}
}

// keepSuccess is the Keep of NewTx.
func keepSuccess(status int) bool {
	return status < http.StatusBadRequest
}
