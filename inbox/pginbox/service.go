package pginbox

import (
	"context"

	"github.com/leat-go/leat/outbox"
)

// RunMaintenance enables the inbox to forget, and runs the Maintenance of the zero
// MaintenanceConfig until ctx ends, for package leat. See Maintenance.Enable and
// Maintenance.Run. An inbox that NewSQL made has no pool for it: the error wraps
// outbox.ErrInvalidConfig.
func (in *Inbox) RunMaintenance(ctx context.Context) error {
	if in.pool == nil {
		return outbox.ConfigError("NoMaintenance", false,
			"must be true for an inbox of NewSQL: pass pginbox.NewMaintenance of a pool to Run")
	}
	m, err := NewMaintenance(in.pool, in.cfg, MaintenanceConfig{})
	if err != nil {
		return err
	}
	if err := m.Enable(ctx); err != nil {
		return err
	}
	return m.Run(ctx)
}
