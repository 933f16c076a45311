package httpdedupe

import (
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"
)

// ErrNoScope is returned where a request cannot be assigned to a tenant. A
// ScopeFunc may return it; it is what an empty scope comes to.
var ErrNoScope = errors.New("leat: request has no tenant")

// ScopeFunc returns the tenant that a request belongs to: whoever may see the
// other's responses, such as an account id, taken from what authentication has
// found out and never from what the client merely says. Keys of different
// tenants have nothing to do with each other. At most 512 bytes of UTF-8; an
// error, or an empty scope, refuses the request with 403. It is safe for
// concurrent use.
type ScopeFunc func(r *http.Request) (string, error)

// OneTenant is the ScopeFunc of a service whose clients may all see each other's
// responses.
func OneTenant(*http.Request) (string, error) {
	return "-", nil
}

func (f ScopeFunc) of(r *http.Request) (string, error) {
	scope, err := f(r)
	switch {
	case err != nil:
		return "", err
	case scope == "":
		return "", ErrNoScope
	case len(scope) > maxScopeBytes || !utf8.ValidString(scope):
		return "", fmt.Errorf("%w: scope %.20q of %d bytes, must be at most %d of UTF-8", ErrNoScope, scope, len(scope), maxScopeBytes)
	default:
		return scope, nil
	}
}
