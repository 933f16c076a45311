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

	// Methods are those that a key counts for; requests of others pass through.
	// Safe methods are refused.
	// Defaults to POST, PUT, PATCH and DELETE.
	Methods []string

	// MaxKeyBytes bounds a key, 1 to 480. Defaults to 255.
	MaxKeyBytes int

	// MaxBodyBytes bounds the body of a request that has a key, which is read into
	// memory before the handler runs; larger ones are answered with 413.
	// Defaults to 1 MiB.
	MaxBodyBytes int64

	// MaxResponseBytes bounds the body of a response that is kept, and that is held
	// back until it is. With New, a larger one is streamed through and not kept;
	// with NewTx it fails the request. The store has a bound too: that of
	// redisdedupe counts the headers as well.
	// Defaults to 60 KiB with New, to 1 MiB with NewTx.
	MaxResponseBytes int

	// Headers are the names of the response's headers that repeats get too.
	// Set-Cookie, hop-by-hop headers, Content-Length and Date are refused.
	// Headers that a middleware outside has set are among them, as they were; those
	// that are not named here are as that middleware sets them for the repeat.
	// Defaults to DefaultHeaders.
	Headers []string

	// AnyHost leaves the request's host, less its port, out of its fingerprint, for a service that
	// clients call by several names: a repeat by another name is then a repeat, and not
	// a key that was used for another request (422). Tenants that differ by their
	// host need a scope that tells them apart. Defaults to false.
	AnyHost bool

	// Fingerprint returns what must be the same in all repeats of a request, beside its method, host
	// and path: of the query, r.URL.RawQuery, and of body, which it must not change. The result may be
	// as long as the body. A key that comes with another one was used for another request (422). It
	// must not read r.Body, and is safe for concurrent use. Take one if your clients do not repeat
	// requests byte for byte, such as objects of JSON in another order.
	// Defaults to the query and the body; of a multipart body to its parts, with their headers, since
	// browsers choose another boundary each time.
	Fingerprint func(r *http.Request, body []byte) []byte

	// Admit is called for each request that has a key, repeats included, before its
	// body is read and anything is stored: each new key is a record for the store's TTL,
	// with up to MaxResponseBytes, so that one tenant could fill it. After an error the
	// request is answered with 429. It is safe for concurrent use. Take a rate limiter
	// by scope, the tenant. Defaults to none: nothing is bounded.
	Admit func(r *http.Request, scope string) error

	// Keep reports whether a response of that status ends the matter. Otherwise the
	// key is released, with NewTx the transaction rolled back, and a repeat runs
	// the handler again.
	// Defaults to all below 500 but 401, 403, 408, 425 and 429 with New, and to
	// all below 400 with NewTx.
	Keep func(status int) bool

	// FinishTimeout bounds the commit and the rollback of NewTx, which go on when
	// the client has gone. New has the Processor's.
	// Defaults to 5 s.
	FinishTimeout time.Duration

	// AfterCommit is called by NewTx after each commit, before the response is
	// written; it should return at once. Give it the outbox's Wake.
	// Defaults to none.
	AfterCommit func()

	// WriteProblem writes a response of the middleware's own, with p's status.
	// Retry-After has been set where p has one.
	// Defaults to application/problem+json of RFC 9457.
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

// DefaultHeaders returns the headers that repeats get: what describes the body, and
// what tells browsers and caches how it may be used, without which a replayed response
// would be less protected than the first. Those of CORS are not among them, since
// they depend on who asks: let a middleware outside set them.
func DefaultHeaders() []string {
	return []string{
		"Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition", "Etag", "Link", "Location",
		"Cache-Control", "Content-Security-Policy", "Content-Security-Policy-Report-Only", "Cross-Origin-Embedder-Policy",
		"Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy", "Expires", "Permissions-Policy", "Pragma",
		"Referrer-Policy", "Strict-Transport-Security", "Vary", "X-Content-Type-Options", "X-Frame-Options",
	}
}

// neverKept are the headers that belong to one response alone: cookies, what
// describes the connection, and what net/http writes itself.
func neverKept() []string {
	return []string{
		"Set-Cookie", "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Date", replayedHeader,
	}
}

// keepAnswers is the Keep of New. What is refused for the caller's identity or
// for the moment may be granted to a repeat.
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
