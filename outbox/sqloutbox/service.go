package sqloutbox

import (
	"context"

	"github.com/leat-go/leat/outbox/driver"
)

// DefaultSource is Source with the zero SourceConfig, for package leat.
func (o *Outbox) DefaultSource() (driver.Source, error) { return o.Source(SourceConfig{}) }

// RunMaintenance runs the Maintenance of the zero MaintenanceConfig until ctx ends, for
// package leat. See Maintenance.Run.
func (o *Outbox) RunMaintenance(ctx context.Context) error {
	m, err := NewMaintenance(o, MaintenanceConfig{})
	if err != nil {
		return err
	}
	return m.Run(ctx)
}
