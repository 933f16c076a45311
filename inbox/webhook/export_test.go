package webhook

import (
	"net/http"
	"time"
)

// Logged returns when a handler that New has made logged a request that is not verified, by clocks.Passed.
func Logged(h http.Handler) time.Duration {
	return time.Duration(h.(*handler).logged.Load()) //nolint:forcetypeassert // New's
}
