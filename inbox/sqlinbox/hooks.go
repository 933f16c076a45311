package sqlinbox

import (
	"context"
	"errors"

	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/outbox"
)

// AlarmClock is raised if the clocks of the database and of this process differ by more than an hour, or if the clock
// of the database has jumped: nothing is forgotten until it is trusted again. It is also raised if the floor is ahead
// of the database's clock, because both clocks were wrong together. Rounds of maintenance fail then.
const AlarmClock outbox.AlarmKind = "clock"

// alarms raises an alarm for a clock that a round does not trust, and ends it once the clock is trusted
// again.
func (m *Maintenance) alarms(ctx context.Context, err error) (raised []outbox.AlarmEvent) {
	if doubt, ok := errors.AsType[clocks.DoubtError](err); ok {
		raised = []outbox.AlarmEvent{{Package: "sqlinbox", Kind: AlarmClock, Detail: doubt.Error()}}
	}
	for _, a := range raised {
		m.tell(ctx, a)
	}
	m.alarmsEnded(ctx, m.standing.Round(raised, func(a outbox.AlarmEvent) string { return string(a.Kind) }, err == nil))
	return raised
}

// alarmsEnded reports alarms that are over.
func (m *Maintenance) alarmsEnded(ctx context.Context, over []outbox.AlarmEvent) {
	for _, a := range over {
		a.Ended = true
		m.tell(ctx, a)
	}
}

func (m *Maintenance) tell(ctx context.Context, a outbox.AlarmEvent) {
	hooks.Call(ctx, m.cfg.Logger, m.cfg.Hooks, func(h outbox.AlarmHook) { h.OnOutboxAlarm(ctx, a) })
}
