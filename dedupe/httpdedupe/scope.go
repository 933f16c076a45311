package httpdedupe

import (
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"
)

// errNoScope is the error for an empty scope.
var errNoScope = errors.New("leat: request has no tenant")

// OneTenant is the scope of a service whose clients may all see each other's responses.
func OneTenant(*http.Request) (string, error) {
	return "-", nil
}

func scopeOf(find func(r *http.Request) (string, error), r *http.Request) (string, error) {
	scope, err := find(r)
	switch {
	case err != nil:
		return "", err
	case scope == "":
		return "", errNoScope
	case len(scope) > maxScopeBytes || !utf8.ValidString(scope):
		return "", fmt.Errorf("%w: scope %.20q of %d bytes, must be at most %d of UTF-8", errNoScope, scope, len(scope), maxScopeBytes)
	default:
		return scope, nil
	}
}
