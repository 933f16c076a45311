package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
)

var (
	errNotRunning = errors.New("leat: relay is not running")

	// ErrStuck is returned by Health while a record is older than Config.SLO although its
	// destination is up, or a slot is stuck at a page. See State.Stuck.
	ErrStuck = errors.New("leat: relay is stuck")

	errSourceAway = errors.New("leat: source has not answered")
)

// State is the state of a relay, as known without a call of its source or sink.
type State struct {
	// Running reports whether Run or RunOnce is in progress.
	Running bool
	// Slots are the leases that it holds. A standby has none.
	Slots []SlotState
	// LastAck is when the sink last acknowledged a record; zero if never.
	LastAck time.Time
	// LastContact is when the source last answered.
	LastContact time.Time
	// OldestAge is the age of the oldest record that the relay is delivering or will try again,
	// by this machine's clock; 0 if there is none. Parked records do not count, nor do records
	// that it has not read yet.
	OldestAge time.Duration
	// OldestTopic is that record's topic.
	OldestTopic string
	// Stuck reports whether that record is older than Config.SLO, and the relay has had it for a
	// while, although its destination is up. It is also set while a slot is stuck at a page: see
	// AlarmStuck, whose Detail names the place.
	Stuck bool
	// Out are the destinations that are out, as each slot sees them.
	Out []BreakerState
	// Alarms are those whose cause lasts, the oldest first. Alarms that report an event, such as
	// AlarmParked, are not included.
	Alarms []AlarmState
	// Held is the number of records that are set aside, as far as the relay knows: those that
	// were set aside before its lease count as one per key. HeldKeys is the number of their keys.
	Held, HeldKeys int
	// ClockOffset is by how much this machine's clock is ahead of the source's, as measured at
	// ClockAt, about once a minute. The error is at most half of the time that the source took to
	// answer. ClockAt is zero if it is not known, as with a source that has no clock of its own
	// (driver.Clocked).
	ClockOffset time.Duration
	ClockAt     time.Time
	// RateIn is the rate, in records per second, at which the latest records were enqueued,
	// averaged over about a minute. RateOut is the rate at which the position passes records.
	RateIn, RateOut float64

	still string // a slot that stands still, "" for none
}

// SlotState is a lease that a relay holds.
type SlotState struct {
	// Slot is the slot's number, 0 if the source has none.
	Slot int
	// Epoch is the number of the lease.
	Epoch int64
	// Since is when it was acquired.
	Since time.Time
}

// AlarmState is an alarm whose cause lasts.
type AlarmState struct {
	// Kind is the kind of the alarm.
	Kind outbox.AlarmKind
	// Topic is the topic that it is about, if it is about one.
	Topic string
	// Detail is for operators.
	Detail string
	// Since is when it was raised, by this machine's clock.
	Since time.Time
}

// State returns the relay's knowledge about itself. It is cheap, calls neither the source nor the
// sink, and may be called at any time from any goroutine.
func (r *Relay) State() State {
	w, now := &r.watch, time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := State{
		Running: w.running, LastAck: w.lastAck, LastContact: w.contact,
		ClockOffset: w.offset, ClockAt: w.clockAt,
		RateIn: w.in.rate(w.created), RateOut: w.out.rate(now),
	}
	s.Alarms = slices.SortedFunc(maps.Values(w.shown), func(a, b AlarmState) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Kind, b.Kind))
	})
	for _, t := range w.terms {
		s.Slots = append(s.Slots, SlotState{Slot: t.slot, Epoch: t.session.Epoch(), Since: t.since})
		if out := t.openBreakers.Load(); out != nil {
			s.Out = append(s.Out, *out...)
		}
	}
	for _, t := range w.terms {
		if h := t.oldest.Load(); h != nil {
			s.older(r, now, h.created, h.since, h.topic)
		}
		if h := t.heldView.Load(); h != nil {
			s.Held += h.records
			s.HeldKeys += h.keys
			if !h.oldest.IsZero() {
				s.older(r, now, h.oldest, h.since, h.topic)
			}
		}
	}
	s.still = w.standstill(&r.cfg, now)
	s.Stuck = s.Stuck || s.still != ""
	return s
}

// older takes an undelivered record into account.
func (s *State) older(r *Relay, now, created, since time.Time, topic string) {
	age := now.Sub(created)
	if age > s.OldestAge {
		s.OldestAge, s.OldestTopic = age, topic
	}
	if age <= r.cfg.SLO || now.Sub(since) <= min(r.cfg.SLO, 4*r.cfg.PublishTimeout) {
		return
	}
	for i := range s.Out {
		if s.Out[i].Topic == topic {
			return
		}
	}
	s.Stuck = refusal(r.pauses.now(), topic) == nil
}

// Health returns nil while the relay works, as leader or as standby, and while only a destination
// that is out stops it. Otherwise it returns an error that wraps ErrStuck if a record is stuck,
// the error of ctx, or an error whose text says that the relay does not run or that the source
// has not answered. It is cheap and may be called at any time from any goroutine.
func (r *Relay) Health(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s := r.State()
	switch silent := time.Since(s.LastContact); {
	case !s.Running:
		return errNotRunning
	case s.still != "":
		return fmt.Errorf("%w: %s", ErrStuck, s.still)
	case s.Stuck:
		return fmt.Errorf("%w: a record of topic %.200q is %s old", ErrStuck, s.OldestTopic, s.OldestAge.Round(time.Second))
	case silent > r.cfg.SLO:
		return fmt.Errorf("%w for %s", errSourceAway, silent.Round(time.Second))
	default:
		return nil
	}
}
