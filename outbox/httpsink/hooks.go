package httpsink

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/hooks"
)

// RequestHook sees each request, for metrics by endpoint and for a log of deliveries.
type RequestHook interface {
	// OnHttpsinkRequest is called when a request has been answered, or has failed.
	OnHttpsinkRequest(ctx context.Context, e RequestEvent)
}

// RequestEvent is an attempt to deliver a record.
type RequestEvent struct {
	// Endpoint is the endpoint's name, and ID the record's id.
	Endpoint, ID string
	// Status is the status of the answer, 0 if there was none.
	Status int
	// Took is the time from the start of the request to the end of the answer.
	Took time.Duration
	// Err is nil if the record was delivered.
	Err error
}

// GoneHook sees endpoints that have answered 410 and take nothing more. The Sink remembers that
// for its own lifetime, and until the URL changes. Store it where Endpoints finds it, as
// Endpoint.Off, for other processes and later runs.
type GoneHook interface {
	// OnHttpsinkGone is called when an endpoint has answered 410, once for each URL.
	OnHttpsinkGone(ctx context.Context, e GoneEvent)
}

// GoneEvent is an endpoint that has answered 410.
type GoneEvent struct {
	// Endpoint is the endpoint's name, and URL its address.
	Endpoint, URL string
}

func (s *Sink) observe(ctx context.Context, e RequestEvent) {
	hooks.Call(ctx, s.cfg.Logger, s.cfg.Hooks, func(h RequestHook) { h.OnHttpsinkRequest(ctx, e) })
}

func (s *Sink) wentOff(ctx context.Context, e GoneEvent) {
	hooks.Call(ctx, s.cfg.Logger, s.cfg.Hooks, func(h GoneHook) { h.OnHttpsinkGone(ctx, e) })
}
