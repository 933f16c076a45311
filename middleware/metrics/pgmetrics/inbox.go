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
	_ pginbox.AlarmHook       = (*Inbox)(nil)
	_ pgwatermark.AlarmHook   = (*Inbox)(nil)
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

// OnPginboxAlarm implements pginbox.AlarmHook.
func (i *Inbox) OnPginboxAlarm(_ context.Context, e pginbox.AlarmEvent) {
	switch e.Kind {
	case pginbox.AlarmBusy, pginbox.AlarmClock: // these last
		i.to.Alarm(string(e.Kind), e.Range.Table, e.Ended)
	default:
		i.to.Event(string(e.Kind))
	}
}

// OnPgwatermarkAlarm implements pgwatermark.AlarmHook.
func (i *Inbox) OnPgwatermarkAlarm(_ context.Context, e pgwatermark.AlarmEvent) {
	i.to.Event(string(e.Kind))
}
