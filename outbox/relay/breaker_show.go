package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// show publishes the open breakers to State, and those that have changed to the hooks and the
// log: once per call of the sink, however many topics it was about.
func (bs *breakers) show(ctx context.Context) {
	refused := 0
	for _, b := range bs.byTopic {
		if b.refused && !errors.Is(b.err, ErrPaused) {
			refused++
		}
	}
	bs.keep(ctx, bs.publish())

	changed := make([]BreakerState, len(bs.changed))
	for i, b := range bs.changed {
		changed[i] = bs.state(b)
		if b.open {
			bs.told = append(bs.told, b.err)
		}
	}
	bs.log(ctx, changed)
	bs.relay.onBreakers(ctx, changed)
	bs.relay.alarmUnavailable(ctx, changed, refused)
}

// publish publishes the open breakers to State, and returns them.
func (bs *breakers) publish() []BreakerState {
	var open []BreakerState
	for _, b := range bs.byTopic {
		if b.open {
			open = append(open, bs.state(b))
		}
	}
	slices.SortFunc(open, func(a, b BreakerState) int { return strings.Compare(a.Topic, b.Topic) })
	bs.shown.Store(&open)
	return open
}

func (bs *breakers) state(b *breaker) BreakerState {
	s := BreakerState{Topic: b.topic, Open: b.open, Suspect: b.suspect, Unavailable: b.refused, Since: b.since}
	if b.open {
		s.NextProbe, s.Err = bs.probeAt(b), b.err
	}
	return s
}

// alarmUnavailable raises one alarm for all topics that the destination does not take.
func (r *Relay) alarmUnavailable(ctx context.Context, changed []BreakerState, refused int) {
	if refused == 0 {
		r.watch.clear(standing{kind: AlarmUnavailable})
		return
	}
	i := slices.IndexFunc(changed, func(s BreakerState) bool { return s.Unavailable && !errors.Is(s.Err, ErrPaused) })
	if i < 0 {
		return
	}
	r.watch.raise(ctx, r, standing{kind: AlarmUnavailable}, outbox.AlarmEvent{
		Kind: AlarmUnavailable, Topic: changed[i].Topic,
		Detail: fmt.Sprintf("the destination does not take %d topics, whose records are set aside; of the first one it says: %v", refused, changed[i].Err),
	})
}

const destinationIsOut = "destination is out"

// maxBreakerLines is the number of breakers that may change at once before they share a
// line of the log.
const maxBreakerLines = 8

// log logs the breakers that have changed: a line for each, or one for all of a kind.
func (bs *breakers) log(ctx context.Context, changed []BreakerState) {
	r := bs.relay
	var back, out, refused []BreakerState
	var longest time.Duration
	waited := 0
	for i, s := range changed {
		switch {
		case !s.Open:
			back = append(back, s)
			longest = max(longest, bs.changed[i].lasted)
			waited += bs.held(s.Topic)
		case s.Unavailable:
			refused = append(refused, s)
		default:
			out = append(out, s)
		}
	}
	logLines(back, len(back), func(s BreakerState, topics slog.Attr) {
		logger.Over(ctx, r.log, destinationIsOut, "destination is back", slog.String("topic", s.Topic), topics,
			slog.Duration("lasted", longest.Round(time.Second)), slog.Int("waiting", waited))
	})
	logLines(out, 1, func(s BreakerState, topics slog.Attr) {
		r.log.LogAttrs(ctx, slog.LevelWarn, destinationIsOut, slog.String("topic", s.Topic), topics,
			slog.Bool("suspect", s.Suspect), bs.nextProbe(s), slog.Any("error", s.Err))
	})
	logLines(refused, len(refused), func(s BreakerState, topics slog.Attr) {
		r.log.LogAttrs(ctx, slog.LevelWarn, "topic is not available, its records are set aside", slog.String("topic", s.Topic), topics,
			bs.nextProbe(s), slog.Any("error", s.Err))
	})
}

// nextProbe is the attribute with the next probe of the topic of s.
func (bs *breakers) nextProbe(s BreakerState) slog.Attr {
	return slog.Any("next_probe", nextProbe{s, bs.shown})
}

// nextProbe is the time of the next probe when a line is written, which may be a minute after the
// breaker has changed.
type nextProbe struct {
	BreakerState

	shown *atomic.Pointer[[]BreakerState]
}

// LogValue implements slog.LogValuer.
func (n nextProbe) LogValue() slog.Value {
	for _, s := range *n.shown.Load() {
		if s.Topic == n.Topic {
			return slog.TimeValue(s.NextProbe)
		}
	}
	return slog.TimeValue(n.NextProbe)
}

// logLines calls line for each of states. If they are many, or if atLeast exceeds 1, it calls
// line once, for the first of them, and topics is their number.
func logLines(states []BreakerState, atLeast int, line func(s BreakerState, topics slog.Attr)) {
	if len(states) == 0 {
		return
	}
	if atLeast > 1 || len(states) > maxBreakerLines {
		line(states[0], slog.Int("topics", len(states)))
		return
	}
	for _, s := range states {
		line(s, slog.Attr{})
	}
}

// onFailure reports that a call of the sink has failed with err. It logs nothing if the breakers
// that this call has opened, or kept open, log it.
func (bs *breakers) onFailure(ctx context.Context, err error) {
	if slices.ContainsFunc(bs.told, func(told error) bool { return errors.Is(told, err) }) {
		bs.relay.notifyError(ctx, "send", err)
		return
	}
	bs.relay.onError(ctx, "send", err)
}
