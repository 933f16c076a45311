// Package sqlmetrics gives the observers of package metrics the hooks of the adapters for
// MySQL, MariaDB and SQLite: sqloutbox and sqlinbox.
//
// Stability: young, see docs/versions.md.
package sqlmetrics

import (
	"context"

	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// Maintenance observes the maintenance of an outbox: give it to
// sqloutbox.MaintenanceConfig.Hooks. It is safe for concurrent use.
type Maintenance struct{ to *metrics.Maintenance }

var _ sqloutbox.MaintenanceHook = (*Maintenance)(nil)

// NewMaintenance returns a Maintenance of the outbox that o observes. Errors wrap
// outbox.ErrInvalidConfig.
func NewMaintenance(o *metrics.Outbox) (*Maintenance, error) {
	if o == nil {
		return nil, outbox.ConfigError("o", nil, "must not be nil")
	}
	return &Maintenance{o.Maintenance()}, nil
}

// OnSqloutboxMaintenance implements sqloutbox.MaintenanceHook.
func (m *Maintenance) OnSqloutboxMaintenance(ctx context.Context, e sqloutbox.MaintenanceEvent) {
	switch {
	case e.Err != nil && ctx.Err() != nil: // it was stopped
	case e.Between:
		m.to.Promoted(e.Err)
	default:
		m.to.Round(e.Err)
	}
}

// Inbox observes what is kept of an inbox: give it to sqlinbox.MaintenanceConfig.Hooks, beside
// metrics.Consumers, which observes deliveries. It is safe for concurrent use.
type Inbox struct{ to *metrics.Maintenance }

var _ sqlinbox.MaintenanceHook = (*Inbox)(nil)

// NewInbox returns an Inbox with a name of your choice, which is the label "inbox": the one
// that a Sampler has for the same tables. Errors wrap outbox.ErrInvalidConfig.
func NewInbox(m *metrics.Metrics, name string) (*Inbox, error) {
	if m == nil {
		return nil, outbox.ConfigError("m", nil, "must not be nil")
	}
	to, err := m.InboxMaintenance(name)
	if err != nil {
		return nil, err
	}
	return &Inbox{to}, nil
}

// OnSqlinboxMaintenance implements sqlinbox.MaintenanceHook.
func (i *Inbox) OnSqlinboxMaintenance(ctx context.Context, e sqlinbox.MaintenanceEvent) {
	if e.Err != nil && ctx.Err() != nil {
		return // it was stopped
	}
	i.to.Round(e.Err)
}
