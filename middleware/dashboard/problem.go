package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/outbox/admin"
)

// problem is the answer to a request that failed (RFC 9457).
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Changed is how many records were changed before the change failed.
	Changed int `json:"changed,omitempty"`
}

var (
	errNoPage      = errors.New("leat: nothing is here")
	errSignIn      = errors.New("leat: sign in")
	errForbidden   = errors.New("leat: you may not see this")
	errCrossOrigin = errors.New("leat: the request comes from a page of another site")
	errNothing     = errors.New("leat: nothing found")
	errCapability  = errors.New("leat: the store cannot do this")
	errWithheld    = errors.New("leat: the payload is withheld: it is not JSON, so what has to be redacted in it cannot be found")
	errChanged     = errors.New("leat: what is selected has changed")
	errNoPreview   = errors.New("leat: a change needs the token of a preview, which dry_run returns")
	errTooMany     = errors.New("leat: too many requests of this role are under way: ask again in a while")
)

// roleError is the error of a user who lacks a role.
type roleError struct{ role Role }

// Error names the role.
func (e *roleError) Error() string { return fmt.Sprintf("leat: this needs the role %s", e.role) }

// hostError is the error of a request for another host.
type hostError struct{ host string }

// Error names the host.
func (e *hostError) Error() string {
	return fmt.Sprintf("leat: %.100q is not in hosts, the names by which this server is reached", e.host)
}

// partialError is the error of a change that was made in part: its text states that, whatever the
// cause.
type partialError struct {
	n   int
	err error
}

// Error has the count and the cause.
func (e *partialError) Error() string { return e.told() + " " + e.err.Error() }

// Unwrap returns the cause.
func (e *partialError) Unwrap() error { return e.err }

func (e *partialError) told() string {
	return fmt.Sprintf("%d were changed before it failed. Look again.", e.n)
}

// inputError is something wrong with a request, which the text names.
type inputError struct{ text string }

// Error returns the text.
func (e *inputError) Error() string { return "leat: " + e.text }

func wrong(name, value, must string) error {
	return &inputError{fmt.Sprintf("%s %.100q: %s", name, value, must)}
}

// statusOf returns the status of an error, and whether its text may be shown.
func statusOf(err error) (status int, shown bool) {
	for _, known := range []struct {
		err    error
		status int
	}{
		{errNoPage, http.StatusNotFound},
		{errNothing, http.StatusNotFound},
		{admin.ErrNotParked, http.StatusNotFound},
		{admin.ErrNoSuchGroup, http.StatusNotFound},
		{inboxadmin.ErrUnknownConsumer, http.StatusNotFound},
		{errSignIn, http.StatusUnauthorized},
		{errForbidden, http.StatusForbidden},
		{errCrossOrigin, http.StatusForbidden},
		{errWithheld, http.StatusForbidden},
		{admin.ErrInvalidRequest, http.StatusBadRequest},
		{inboxadmin.ErrBeingRetried, http.StatusConflict},
		{admin.ErrNotFirst, http.StatusConflict},
		{admin.ErrGroupActive, http.StatusConflict},
		{errChanged, http.StatusConflict},
		{errNoPreview, http.StatusPreconditionRequired},
		{errCapability, http.StatusNotImplemented},
		{ErrBusy, http.StatusServiceUnavailable},
		{errTooMany, http.StatusServiceUnavailable},
	} {
		if errors.Is(err, known.err) {
			return known.status, true
		}
	}
	return statusOfType(err)
}

func statusOfType(err error) (status int, shown bool) {
	if _, ok := errors.AsType[*inputError](err); ok {
		return http.StatusBadRequest, true
	}
	if _, ok := errors.AsType[*roleError](err); ok {
		return http.StatusForbidden, true
	}
	if _, ok := errors.AsType[*hostError](err); ok {
		return http.StatusMisdirectedRequest, true
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge, true
	}
	if _, ok := errors.AsType[*answerError](err); ok {
		return http.StatusInternalServerError, true
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return http.StatusGatewayTimeout, false
	}
	return http.StatusInternalServerError, false
}

// fail answers with an error, as a page or as JSON. Errors of stores are logged and not shown,
// since they may name servers and users.
func (d *Dashboard) fail(ctx context.Context, c *call, err error) {
	status, shown := statusOf(err)
	if status == http.StatusServiceUnavailable {
		c.w.Header().Set("Retry-After", "5")
	}
	p := problem{Title: http.StatusText(status), Status: status}
	if shown {
		p.Detail = strings.TrimPrefix(err.Error(), "leat: ")
	} else {
		p.Detail = "The store did not do what was asked. The log of this server says why."
		d.cfg.Logger.WarnContext(ctx, "request failed", slog.String("path", c.r.URL.Path), slog.Any("error", err))
	}
	if partial, ok := errors.AsType[*partialError](err); ok {
		if p.Changed = partial.n; !shown {
			p.Detail = partial.told() + " " + p.Detail
		}
	}
	if c.forAPI() {
		_ = c.json(status, "application/problem+json", p) // it is small
		return
	}
	c.render(ctx, status, "error", p)
}
