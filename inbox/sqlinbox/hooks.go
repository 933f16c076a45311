package sqlinbox

import (
	"context"
	"time"
)

// MaintenanceHook sees what maintenance does.
type MaintenanceHook interface {
	// OnSqlinboxMaintenance is called after each round of a Maintenance.
	OnSqlinboxMaintenance(ctx context.Context, e MaintenanceEvent)
}

// MaintenanceEvent is a round that has ended.
type MaintenanceEvent struct {
	// Report is what was done; after an error, what was done before it.
	Report Report
	// Took is the time that it took.
	Took time.Duration
	// Err is what could not be done, nil if nothing; that of ctx if Run was stopped.
	Err error
}
