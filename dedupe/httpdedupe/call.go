package httpdedupe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/leat-go/leat/dedupe"
)

// call is a request that has a key.
type call struct {
	id          string // id of the record: scope and key
	fingerprint string // of the method, the host, the path and Config.Fingerprint
	request     *http.Request
}

// rules are the checks of requests that both kinds of middleware share.
type rules struct {
	Config

	scope func(r *http.Request) (string, error)
}

// around returns a middleware that passes each request with a key to serve.
func (c rules) around(serve func(context.Context, http.ResponseWriter, *call, http.Handler)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			request, p := c.admit(r)
			switch {
			case p != nil:
				c.answer(w, r, p)
			case request == nil:
				next.ServeHTTP(w, r)
			default:
				serve(r.Context(), w, request, next)
			}
		})
	}
}

// admit checks a request. If it returns neither a call nor a problem, the request must pass
// through.
func (c rules) admit(r *http.Request) (*call, *Problem) {
	if !slices.Contains(c.Methods, r.Method) {
		return nil, nil
	}
	key, err := keyOf(r.Header, c.MaxKeyBytes)
	switch {
	case err != nil:
		return nil, problem(http.StatusBadRequest, codeInvalid, headerKey+": "+err.Error())
	case key == "" && c.Required:
		return nil, problem(http.StatusBadRequest, codeMissing, "This request needs the header "+headerKey+".")
	case key == "":
		return nil, nil
	}
	scope, err := scopeOf(c.scope, r)
	if err != nil {
		c.Logger.WarnContext(r.Context(), "request with an idempotency key has no tenant", slog.Any("error", err))
		return nil, problem(http.StatusForbidden, codeNoTenant, "The request cannot be assigned to a tenant.")
	}
	if c.Admit != nil {
		if err := c.Admit(r, scope); err != nil {
			c.Logger.WarnContext(r.Context(), "request with an idempotency key is not admitted", slog.String("scope", scope), slog.Any("error", err))
			return nil, again(http.StatusTooManyRequests, codeTooMany, "There are too many requests with the header "+headerKey+".", 0)
		}
	}
	body, p := c.read(r)
	if p != nil {
		return nil, p
	}
	return &call{
		id:          strconv.Itoa(len(scope)) + ":" + scope + ":" + key,
		fingerprint: dedupe.Fingerprint([]byte(r.Method), []byte(c.host(r)), []byte(path(r)), c.Fingerprint(r, body)),
		request:     r,
	}, nil
}

// host returns the host name that the client used. The same request to two hosts behind one store
// is two requests. The port does not matter.
func (c rules) host(r *http.Request) string {
	if c.AnyHost {
		return ""
	}
	host := strings.ToLower(r.Host)
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// path returns the path as the client sent it. http.StripPrefix and routers change that of r.URL,
// which would make requests to two mounts look alike.
func path(r *http.Request) string {
	p, _ := target(r)
	return p
}

// target is the path and the query as the client sent them.
func target(r *http.Request) (path, query string) {
	uri := r.RequestURI
	if !strings.HasPrefix(uri, "/") {
		uri = r.URL.RequestURI() // the request was not read by a server, or is in absolute form
	}
	path, query, _ = strings.Cut(uri, "?")
	return path, query
}

// read reads the body and puts it back.
func (c rules) read(r *http.Request) ([]byte, *Problem) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, min(c.MaxBodyBytes, math.MaxInt64-1)+1))
	tooLarge := int64(len(body)) > c.MaxBodyBytes
	if _, limited := errors.AsType[*http.MaxBytesError](err); limited || tooLarge {
		return nil, problem(http.StatusRequestEntityTooLarge, codeBodyTooLarge,
			fmt.Sprintf("A request with the header %s has at most %d bytes.", headerKey, c.MaxBodyBytes))
	}
	if err != nil {
		return nil, problem(http.StatusBadRequest, codeBodyUnreadable, "The body could not be read to its end.")
	}
	r.Body = &restored{Reader: bytes.NewReader(body), Closer: r.Body}
	return body, nil
}

// restored is a body that has been read once.
type restored struct {
	*bytes.Reader
	io.Closer
}
