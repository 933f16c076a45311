package metrics

import (
	"strconv"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// Watched is something with a relay's state, such as *relay.Relay.
type Watched interface {
	State() relay.State
}

// Watch shows the state of a relay of the group, read whenever metrics are collected, without
// calling a server. Call stop when the relay is not used any more.
func (r *Relay) Watch(w Watched) (stop func()) {
	return r.m.show(func(show func(reading)) { r.state(w.State(), show) })
}

// state shows the gauges of the present state, and 0 for past or possible states.
func (r *Relay) state(s relay.State, show func(reading)) {
	set := func(row id, label string, value float64) {
		show(reading{row, [3]string{r.outbox, r.group, label}, value})
	}
	for _, slot := range s.Slots {
		r.slot(slot.Slot)
		set(relayLeaseHeld, strconv.Itoa(slot.Slot), 1)
	}
	r.mu.Lock()
	for slot := range r.settled {
		set(relayLeaseHeld, strconv.Itoa(slot), 0)
	}
	r.mu.Unlock()
	for _, out := range s.Out {
		r.topics.of(out.Topic)
		set(relayBreakerOpen, r.m.topics.fit(out.Topic), yes(out.Open))
	}
	for topic := range r.topics.values() {
		set(relayBreakerOpen, topic, 0)
	}
	for _, alarm := range s.Alarms {
		set(relayAlarmActive, string(alarm.Kind), 1)
	}
	for _, kind := range []outbox.AlarmKind{
		relay.AlarmHeldCap, relay.AlarmUnavailable, relay.AlarmErrorRate, relay.AlarmStuck, relay.AlarmLag, relay.AlarmServerChanged,
	} {
		set(relayAlarmActive, string(kind), 0)
	}
	set(relayLastAck, "", unix(s.LastAck))
	if !s.ClockAt.IsZero() {
		set(clockOffset, "", s.ClockOffset.Seconds())
	}
}

// unix returns t in seconds since 1970, 0 for the zero Time.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
