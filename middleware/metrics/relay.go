package metrics

import (
	"context"
	"strconv"
	"sync"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// Relay observes the relays of one group in this process. Give it to relay.Config.Hooks, and pass
// the relay to Watch. It is safe for concurrent use.
type Relay struct {
	m             *Metrics
	outbox, group string

	topics       *series[*relayTopic]
	read         Histogram
	publish      Histogram
	replacements Counter
	errors       *series[Counter]
	alarms       *series[Counter]
	tallies      tallies

	mu      sync.Mutex
	settled map[int]Counter // by slot
}

var (
	_ relay.SendHook     = (*Relay)(nil)
	_ driver.Borrower    = (*Relay)(nil)
	_ relay.ReadHook     = (*Relay)(nil)
	_ relay.ProgressHook = (*Relay)(nil)
	_ relay.HoldHook     = (*Relay)(nil)
	_ relay.ErrorHook    = (*Relay)(nil)
	_ outbox.AlarmHook   = (*Relay)(nil)
)

// Relay returns an observer of the relays of a group of the outbox. The group is "default" unless
// you have named one. Errors wrap outbox.ErrInvalidConfig.
func (o *Outbox) Relay(group string) (*Relay, error) {
	if err := validName("group", group); err != nil {
		return nil, err
	}
	m := o.m
	r := &Relay{
		m: m, outbox: o.name, group: group,
		read:         m.histogram(relayReadDuration, o.name, group),
		publish:      m.histogram(relayPublishDuration, o.name, group),
		replacements: m.counter(relayReplacements, o.name, group),
		settled:      map[int]Counter{},
	}
	r.topics = newSeries(m.topics, r.topic, m.cfg.Topics...)
	r.errors = newSeries(newBound(m.cfg.MaxValues), func(operation string) Counter {
		return m.counter(relayErrors, o.name, group, operation)
	}, operations()...)
	r.alarms = newSeries(newBound(m.cfg.MaxValues), func(kind string) Counter {
		return m.counter(relayAlarms, o.name, group, kind)
	}, alarmKinds()...)
	r.slot(0)
	return r, nil
}

// operations returns the operations of relay.ErrorEvent.
func operations() []string {
	return []string{
		"check", "share", "acquire", "held_keys", "read", "send", "check_topics", "advance", "hold", "due", "resolve",
		"renew", "release", "leave", "paused", "clock",
	}
}

func alarmKinds() []string {
	return []string{
		string(relay.AlarmParked), string(relay.AlarmHeldCap), string(relay.AlarmUnavailable), string(relay.AlarmErrorRate),
		string(relay.AlarmStuck), string(relay.AlarmLag), string(relay.AlarmServerChanged), string(relay.AlarmSourceUnusable),
	}
}

// slot returns the counter of a slot's records.
func (r *Relay) slot(n int) Counter {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.settled[n]
	if !ok {
		c = r.m.counter(relaySettled, r.outbox, r.group, strconv.Itoa(n))
		r.settled[n] = c
	}
	return c
}

// Borrows implements driver.Borrower.
func (*Relay) Borrows() {}

// OnRelaySend implements relay.SendHook.
func (r *Relay) OnRelaySend(_ context.Context, e relay.SendEvent) {
	r.publish.Observe(e.Took.Seconds())
	t := r.tallies.take(r)
	for i := range e.Records {
		t.add(&e.Records[i], e.Results[i].Err)
	}
	r.tallies.done(t)
}

// OnRelayRead implements relay.ReadHook.
func (r *Relay) OnRelayRead(_ context.Context, e relay.ReadEvent) { r.read.Observe(e.Took.Seconds()) }

// OnRelayProgress implements relay.ProgressHook.
func (r *Relay) OnRelayProgress(_ context.Context, e relay.ProgressEvent) {
	r.slot(e.Slot).Add(float64(e.Settled))
}

// OnRelayHold implements relay.HoldHook.
func (r *Relay) OnRelayHold(_ context.Context, e relay.HoldEvent) {
	fates := &r.topics.of(e.Record.Topic).fates
	if e.Fate >= driver.FateRetry && int(e.Fate) < len(fates) {
		fates[e.Fate].Add(1)
	}
}

// OnRelayError implements relay.ErrorHook.
func (r *Relay) OnRelayError(_ context.Context, e relay.ErrorEvent) { r.errors.of(e.Operation).Add(1) }

// OnOutboxAlarm implements outbox.AlarmHook, for alarms of a relay.
func (r *Relay) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) {
	if e.Package == "relay" && !e.Ended {
		r.alarms.of(string(e.Kind)).Add(1)
	}
}

// OnDriverReplace implements driver.ReplaceHook, for the sink of a relay.
func (r *Relay) OnDriverReplace(context.Context, driver.ReplaceEvent) { r.replacements.Add(1) }
