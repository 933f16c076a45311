package relay

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// showBreakers publishes the breakers that are open, and that those of all have changed:
// once a call of the sink, however many topics it was about.
func (t *term) showBreakers(ctx context.Context, all []*destination) {
	var open []BreakerState
	refused := 0
	for _, d := range t.destinations.byTopic {
		if d.open {
			open = append(open, t.destinations.state(d))
		}
		if d.refused {
			refused++
		}
	}
	slices.SortFunc(open, func(a, b BreakerState) int { return strings.Compare(a.Topic, b.Topic) })
	t.breakers.Store(&open)

	states := make([]BreakerState, len(all))
	for i, d := range all {
		states[i] = t.destinations.state(d)
	}
	t.relay.onBreakers(ctx, states)
	t.alarmUnavailable(ctx, states, refused)
}

func (ds *destinations) state(d *destination) BreakerState {
	s := BreakerState{Topic: d.topic, Open: d.open, Suspect: d.suspect, Unavailable: d.refused, Since: d.since}
	if d.open {
		s.NextProbe, s.Err = ds.probeAt(d), d.err
	}
	return s
}

// alarmUnavailable raises one alarm for all topics that the destination does not take.
func (t *term) alarmUnavailable(ctx context.Context, changed []BreakerState, refused int) {
	if refused == 0 {
		t.relay.watch.clear(AlarmUnavailable)
		return
	}
	i := slices.IndexFunc(changed, func(s BreakerState) bool { return s.Unavailable })
	if i < 0 {
		return
	}
	t.relay.watch.raise(ctx, t.relay, Alarm{
		Kind: AlarmUnavailable, Topic: changed[i].Topic,
		Detail: fmt.Sprintf("the destination does not take %d topics, whose records are set aside; of the first one it says: %v", refused, changed[i].Err),
	})
}

// mostBreakerLines is the number of breakers that have changed at once up to which each
// has a line of the log.
const mostBreakerLines = 8

// logBreakers writes what has changed: a line for each, or one for all that are alike.
func (r *Relay) logBreakers(ctx context.Context, states []BreakerState) {
	var back, out, refused []BreakerState
	for _, s := range states {
		switch {
		case !s.Open:
			back = append(back, s)
		case s.Unavailable:
			refused = append(refused, s)
		default:
			out = append(out, s)
		}
	}
	logLines(back, 1, func(s BreakerState, topics slog.Attr) {
		r.log.LogAttrs(ctx, slog.LevelInfo, "destination is back", slog.String("topic", s.Topic), topics)
	})
	logLines(out, 1, func(s BreakerState, topics slog.Attr) {
		r.log.LogAttrs(ctx, slog.LevelWarn, "destination is out", slog.String("topic", s.Topic), topics,
			slog.Bool("suspect", s.Suspect), slog.Time("next_probe", s.NextProbe), slog.Any("error", s.Err))
	})
	logLines(refused, len(refused), func(s BreakerState, topics slog.Attr) {
		r.log.LogAttrs(ctx, slog.LevelWarn, "topic is not available, its records are set aside", slog.String("topic", s.Topic), topics,
			slog.Time("next_probe", s.NextProbe), slog.Any("error", s.Err))
	})
}

// logLines calls line for each of states, or once for all of them: where a line is for
// atLeast of them or where they are many. topics is their number then.
func logLines(states []BreakerState, atLeast int, line func(s BreakerState, topics slog.Attr)) {
	if len(states) == 0 {
		return
	}
	if atLeast > 1 || len(states) > mostBreakerLines {
		line(states[0], slog.Int("topics", len(states)))
		return
	}
	for _, s := range states {
		line(s, slog.Attr{})
	}
}
