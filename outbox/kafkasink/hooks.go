package kafkasink

import (
	"context"

	"github.com/leat-go/leat/internal/hooks"
)

// ReplaceHook sees Kafka clients go. A sink that replaces its client often has a cluster
// that fails often, and gives up what the client knew of it each time.
type ReplaceHook interface {
	// OnKafkasinkReplace is called when a delivery has failed and its client was closed,
	// or will be in this call. The next delivery makes another one.
	OnKafkasinkReplace(ctx context.Context, e ReplaceEvent)
}

// ReplaceEvent is a client that is replaced.
type ReplaceEvent struct {
	// Slot is the slot of a Transactional, empty for a Sink.
	Slot string
	// Records is the number of records that were not acknowledged.
	Records int
	// Err is the first error of the delivery.
	Err error
}

func (s *Sink) replaced(ctx context.Context, slot string, records int, err error) {
	e := ReplaceEvent{Slot: slot, Records: records, Err: err}
	hooks.Call(ctx, s.cfg.Logger, s.cfg.Hooks, func(h ReplaceHook) { h.OnKafkasinkReplace(ctx, e) })
}
