package pgmetrics

import (
	"context"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/outbox"
)

// Inbox observes what is kept of an inbox: give it to the Hooks of pginbox.Config,
// pginbox.MaintenanceConfig and pgwatermark.Config, beside metrics.Consumers, which observes
// deliveries. It is safe for concurrent use.
type Inbox struct{ to *metrics.Maintenance }

var (
	_ pginbox.MaintenanceHook = (*Inbox)(nil)
	_ outbox.AlarmHook        = (*Inbox)(nil)
)

// NewInbox returns an Inbox with a name of your choice, which is the label "inbox": the one
// that a Sampler has for the same tables. Errors wrap outbox.ErrInvalidConfig.
func NewInbox(m *metrics.Metrics, name string) (*Inbox, error) {
	if m == nil {
		return nil, outbox.ConfigError("m", nil, "must not be nil")
	}
	to, err := m.InboxMaintenance(name,
		string(pginbox.AlarmTooOld), string(pginbox.AlarmTooNew), string(pginbox.AlarmRangeMissing),
		string(pginbox.AlarmBusy), string(pginbox.AlarmClock), string(pginbox.AlarmRetention),
		string(pgwatermark.AlarmNewSource), string(pgwatermark.AlarmBeyondEnd), string(pgwatermark.AlarmMissing),
	)
	if err != nil {
		return nil, err
	}
	return &Inbox{to}, nil
}

// OnPginboxMaintenance implements pginbox.MaintenanceHook.
func (i *Inbox) OnPginboxMaintenance(ctx context.Context, e pginbox.MaintenanceEvent) {
	if e.Err != nil && ctx.Err() != nil {
		return // it was stopped
	}
	i.to.Round(e.Err)
}

// OnOutboxAlarm implements outbox.AlarmHook, for alarms of an inbox.
func (i *Inbox) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) {
	switch {
	case e.Package != "pginbox" && e.Package != "pgwatermark":
	case e.Kind == pginbox.AlarmBusy, e.Kind == pginbox.AlarmClock: // these last
		i.to.Alarm(string(e.Kind), "", e.Ended)
	default:
		i.to.Event(string(e.Kind))
	}
}
