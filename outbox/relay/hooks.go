package relay

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox"
)

// Hook observes a relay. A hook implements any of the On… interfaces of this
// package; New refuses one that implements none. Hooks are called from the
// relay's goroutines, one at a time a kind, and should return quickly.
type Hook any

// PublishHook sees every answer of the sink.
type PublishHook interface {
	// OnPublish is called after each Send with its records and results and the
	// time it took. Records are valid during the call only.
	OnPublish(ctx context.Context, records []outbox.Record, results []outbox.Result, took time.Duration)
}

// LeaseHook sees the lease come and go.
type LeaseHook interface {
	// OnLease is called with held true after the lease was acquired, and with
	// held false after it was released or lost (err tells why, nil for a release).
	OnLease(ctx context.Context, epoch int64, held bool, err error)
}

// ErrorHook sees every error that the relay survives.
type ErrorHook interface {
	// OnError is called with the operation ("check", "acquire", "read", "send",
	// "advance", "renew", "release") and its error, before the relay backs off.
	OnError(ctx context.Context, operation string, err error)
}
