package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/outbox/relay"
)

// relayPart returns r as a part of a daemon.
func relayPart(r Relay, made *relay.Relay) *part {
	return &part{
		kind: "relay", store: r.Outbox, group: r.Group,
		check: r.Source.Check,
		run: func(ctx context.Context) error {
			for _, hook := range r.Config.Hooks {
				if observer, ok := hook.(*metrics.Relay); ok {
					defer observer.Watch(made)()
				}
			}
			return made.Run(ctx)
		},
		look: func(now time.Time) PartStatus { return lookAtRelay(made, now) },
		dead: func(time.Time, time.Time) error {
			if err := made.Health(context.Background()); errors.Is(err, relay.ErrStuck) {
				return err
			}
			return nil
		},
	}
}

// silence is how long a database may be unreachable.
const silence = 30 * time.Second

// lookAtRelay returns the status of a running relay.
func lookAtRelay(r *relay.Relay, now time.Time) PartStatus {
	state := r.State()
	s := PartStatus{State: StateStandby, Held: state.Held, OldestSeconds: state.OldestAge.Seconds()}
	for _, slot := range state.Slots {
		s.State = StateLeader
		s.Slots = append(s.Slots, slot.Slot)
	}
	if out := slices.DeleteFunc(state.Out, func(b relay.BreakerState) bool { return !b.Open }); len(out) > 0 {
		s.State, s.Reason = StateDegraded, whyOut(out)
		for _, b := range out[:min(len(out), mostOut)] {
			s.Out = append(s.Out, b.Topic)
		}
	}
	for _, alarm := range state.Alarms {
		switch alarm.Kind {
		case relay.AlarmHeldCap, relay.AlarmUnavailable, relay.AlarmServerChanged:
			s.State = StateDegraded
			if s.Reason != "" {
				continue // the reason of an open topic says more
			}
			s.Reason = brief(fmt.Errorf("alarm %s: %s", alarm.Kind, alarm.Detail)) //nolint:err113 // shown, not returned
		}
	}
	switch quiet := now.Sub(state.LastContact); {
	case state.Stuck:
		s.State, s.Reason = StateDown, stuck(state)
	case quiet > silence:
		s.State, s.Reason = StateDown, fmt.Sprintf("the source has not answered for %s", quiet.Round(time.Second))
	}
	return s
}

// mostOut bounds the topics that a status names, since any producer can add topics.
const mostOut = 100

// whyOut names the topics that are out, and the reason of the first one.
func whyOut(out []relay.BreakerState) string {
	text := fmt.Sprintf("topic %.200q is out", out[0].Topic)
	if more := len(out) - 1; more > 0 {
		text = fmt.Sprintf("topic %.200q and %d more are out", out[0].Topic, more)
	}
	if out[0].Err != nil {
		text += ": " + brief(out[0].Err)
	}
	return text
}

// stuck returns why a relay is stuck: a page, which raises an alarm without a topic, or a record.
func stuck(state relay.State) string {
	for _, alarm := range state.Alarms {
		if alarm.Kind == relay.AlarmStuck && alarm.Topic == "" {
			return "stuck: " + brief(errors.New(alarm.Detail)) //nolint:err113 // shown, not returned
		}
	}
	return fmt.Sprintf("stuck: a record of topic %.200q is %s old", state.OldestTopic, state.OldestAge.Round(time.Second))
}

// named is a relay and the outbox and group that it relays.
type named struct {
	outbox, group string
	relay         *relay.Relay
}

// Breakers returns the destinations that the relays of a group do not send to at the moment, for
// dashboard.Config.
func (d *Daemon) Breakers(outbox, group string) (out []relay.BreakerState) {
	for _, r := range d.relays {
		if r.outbox == outbox && r.group == group {
			out = append(out, r.relay.State().Out...)
		}
	}
	return out
}
