package hooks

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/outbox"
)

// Alarms are the alarms of a component that works in rounds, and raises in each round every alarm
// that lasts. Hooks are told which of them are over. It is for one goroutine at a time.
type Alarms struct {
	Log   *slog.Logger
	Hooks []outbox.Hook

	last map[string]outbox.AlarmEvent
}

// Raise calls the hooks.
func (s *Alarms) Raise(ctx context.Context, a outbox.AlarmEvent) {
	Call(ctx, s.Log, s.Hooks, func(h outbox.AlarmHook) { h.OnOutboxAlarm(ctx, a) })
}

// Round takes the alarms that a round has raised and ends those of earlier rounds that it has not
// raised again, in the order of their kinds and groups. An incomplete round ends no alarm, since
// it may have stopped before raising it. Alarms of one kind and group are one.
func (s *Alarms) Round(ctx context.Context, raised []outbox.AlarmEvent, complete bool) {
	earlier := s.last
	if s.last == nil || complete {
		s.last = make(map[string]outbox.AlarmEvent)
	}
	for _, a := range raised {
		s.last[string(a.Kind)+"/"+a.Group] = a
	}
	s.end(ctx, earlier)
}

// Clock is a round whose only alarm is a, raised if err is doubt about a clock. It is complete if
// err is nil.
func (s *Alarms) Clock(ctx context.Context, a outbox.AlarmEvent, err error) (raised []outbox.AlarmEvent) {
	if doubt, ok := errors.AsType[clocks.DoubtError](err); ok {
		a.Detail = doubt.Error()
		raised = []outbox.AlarmEvent{a}
		s.Raise(ctx, a)
	}
	s.Round(ctx, raised, err == nil)
	return raised
}

// End ends all alarms, as when watching ends.
func (s *Alarms) End(ctx context.Context) {
	earlier := s.last
	s.last = nil
	s.end(ctx, earlier)
}

// end reports those of earlier that do not last.
func (s *Alarms) end(ctx context.Context, earlier map[string]outbox.AlarmEvent) {
	for _, k := range slices.Sorted(maps.Keys(earlier)) {
		if _, lasts := s.last[k]; !lasts {
			a := earlier[k]
			a.Ended = true
			s.Raise(ctx, a)
		}
	}
}
