package pginbox

import "context"

// RunMaintenance enables the inbox to forget, and runs the Maintenance of the zero
// MaintenanceConfig until ctx ends, for package leat. See Maintenance.Enable and
// Maintenance.Run.
func (in *Inbox) RunMaintenance(ctx context.Context) error {
	m, err := newMaintenance(in.sessions, in.cfg, MaintenanceConfig{})
	if err != nil {
		return err
	}
	if err := m.Enable(ctx); err != nil {
		return err
	}
	return m.Run(ctx)
}
