package admin

import (
	"context"
	"time"
)

// MaintenanceHook sees what the maintenance of an outbox or an inbox does.
type MaintenanceHook interface {
	// OnAdminMaintenance is called after each round of a Maintenance. That of an outbox also
	// calls it whenever it has moved delayed messages into the log between two rounds, or could
	// not. While another process works there are no rounds.
	OnAdminMaintenance(ctx context.Context, e MaintenanceEvent)
}

// MaintenanceEvent is a round that has ended.
type MaintenanceEvent struct {
	// Between is set if delayed messages were moved between two rounds.
	Between bool
	// Report is what was done: a MaintenanceReport of the store's package. After an error it is
	// what was done before it.
	Report any
	// Took is the time that it took.
	Took time.Duration
	// Err is what could not be done, nil if nothing. It is that of ctx if Run was stopped.
	Err error
}
