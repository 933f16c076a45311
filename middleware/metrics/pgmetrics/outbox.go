// Package pgmetrics gives the observers of package metrics the hooks of PostgreSQL's
// adapters: pgoutbox, pginbox and pgwatermark.
package pgmetrics

import (
	"context"

	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// Maintenance observes the maintenance of an outbox: give it to
// pgoutbox.MaintenanceConfig.Hooks. It is safe for concurrent use.
type Maintenance struct{ to *metrics.Maintenance }

var (
	_ pgoutbox.MaintenanceHook = (*Maintenance)(nil)
	_ outbox.AlarmHook         = (*Maintenance)(nil)
)

// NewMaintenance returns a Maintenance of the outbox that o observes. Errors wrap
// outbox.ErrInvalidConfig.
func NewMaintenance(o *metrics.Outbox) (*Maintenance, error) {
	if o == nil {
		return nil, outbox.ConfigError("o", nil, "must not be nil")
	}
	return &Maintenance{o.Maintenance(
		string(pgoutbox.AlarmHistoryPinned), string(pgoutbox.AlarmLag), string(pgoutbox.AlarmLagExceeded),
		string(pgoutbox.AlarmTailInUse), string(pgoutbox.AlarmPositionUnusable), string(pgoutbox.AlarmBusy),
	)}, nil
}

// OnPgoutboxMaintenance implements pgoutbox.MaintenanceHook.
func (m *Maintenance) OnPgoutboxMaintenance(ctx context.Context, e pgoutbox.MaintenanceEvent) {
	switch {
	case e.Err != nil && ctx.Err() != nil: // it was stopped
	case e.Report.Sequence == 0 && e.Report.Promoted > 0:
		m.to.Promoted(e.Err)
	default:
		m.to.Round(e.Err)
	}
}

// OnOutboxAlarm implements outbox.AlarmHook, for alarms of the outbox's maintenance.
func (m *Maintenance) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) {
	if e.Package == "pgoutbox" {
		m.to.Alarm(string(e.Kind), e.Group, e.Ended)
	}
}
