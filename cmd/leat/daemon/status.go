package daemon

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// State is how a part of a daemon, or all of it, is.
type State string

// The states.
const (
	// StateLeader is of a part that works.
	StateLeader State = "leader"
	// StateStandby is of a part that takes over if the one that works fails.
	StateStandby State = "standby"
	// StateDegraded is of a part that works as far as it can: a destination is out, or the
	// last round has failed.
	StateDegraded State = "degraded"
	// StateDown is of a part that does not work.
	StateDown State = "down"
	// StateStarting is of a part that has not been checked yet.
	StateStarting State = "starting"
	// StateOK is of a database that answers, and of a daemon all of whose parts are leader
	// or standby.
	StateOK State = "ok"
	// StateStopping is of a daemon that drains.
	StateStopping State = "stopping"
)

// Status is how a daemon is.
type Status struct {
	// Version is that of this form: fields are added within a version, and not removed.
	Version int `json:"v"`
	// State is the worst of the parts and databases, or StateStopping.
	State State `json:"state"`
	// Live and Ready are what /livez and /readyz say; Why is the reason if not.
	Live  bool   `json:"live"`
	Ready bool   `json:"ready"`
	Why   string `json:"why,omitempty"`
	// UpSeconds is for how long the daemon has run.
	UpSeconds float64          `json:"up_seconds"`
	Parts     []PartStatus     `json:"parts"`
	Databases []DatabaseStatus `json:"databases"`
}

// PartStatus is how a relay or a maintenance is.
type PartStatus struct {
	// Kind is "relay", "maintenance" or "inbox maintenance", Store the name of the outbox or
	// inbox, Group that of the relay group.
	Kind  string `json:"kind"`
	Store string `json:"store"`
	Group string `json:"group,omitempty"`
	State State  `json:"state"`
	// Reason is why it is degraded or down.
	Reason string `json:"reason,omitempty"`
	// Slots are those that a relay leads, Out the topics that are out, at most a hundred.
	Slots []int    `json:"slots,omitempty"`
	Out   []string `json:"out,omitempty"`
	// Held are the records that a relay has set aside, OldestSeconds the age of the oldest
	// one that it is delivering or is to try again.
	Held          int     `json:"held,omitempty"`
	OldestSeconds float64 `json:"oldest_seconds,omitempty"`
	// Leader is the process that maintains, if it is another one.
	Leader string `json:"leader,omitempty"`
}

// DatabaseStatus is whether a database has answered lately.
type DatabaseStatus struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"`
}

var (
	errStarting = errors.New("leat: not checked yet")
	errStopping = errors.New("leat: stopping")
)

// Live returns nil unless only a new process helps: a relay is stuck, or maintenance has
// done nothing for an hour longer than its interval. A database that is unavailable is no such thing.
func (d *Daemon) Live() error {
	now := time.Now()
	for _, db := range d.databases {
		if db.answers(now) != nil {
			return nil //nolint:nilerr // a new process could do no more
		}
	}
	for _, p := range d.parts {
		if err := p.alive(now); err != nil {
			return fmt.Errorf("%s: %w", p.name(), err)
		}
	}
	return nil
}

// Ready returns nil if all databases have answered within 30 s, and all parts have passed
// their checks and run, as leader or as standby. A destination that is out does not count.
func (d *Daemon) Ready() error {
	if d.stopping.Load() {
		return errStopping
	}
	now := time.Now()
	for _, db := range d.databases {
		if err := db.answers(now); err != nil {
			return fmt.Errorf("database %s: %w", db.Name, err)
		}
	}
	for _, p := range d.parts {
		if err := p.ready(); err != nil {
			return fmt.Errorf("%s: %w", p.name(), err)
		}
	}
	return nil
}

// Status returns how the daemon and its parts are. It asks nobody.
func (d *Daemon) Status() Status {
	now := time.Now()
	live, ready := d.Live(), d.Ready()
	s := Status{
		Version: 1, State: StateOK, Live: live == nil, Ready: ready == nil, UpSeconds: now.Sub(d.started).Seconds(),
		Parts: []PartStatus{}, Databases: []DatabaseStatus{},
	}
	if err := errors.Join(live, ready); err != nil {
		s.Why = brief(err)
	}
	for _, p := range d.parts {
		part := p.status(now)
		s.Parts = append(s.Parts, part)
		s.State = worse(s.State, part.State)
	}
	for _, db := range d.databases {
		status := DatabaseStatus{Name: db.Name, State: StateOK}
		if err := db.answers(now); err != nil {
			status.State, status.Reason = StateDown, brief(err)
		}
		s.Databases = append(s.Databases, status)
		s.State = worse(s.State, status.State)
	}
	if d.stopping.Load() {
		s.State = StateStopping
	}
	return s
}

// worse returns the worse of a daemon's state so far and a part's.
func worse(all, one State) State {
	rank := map[State]int{StateStarting: 1, StateDegraded: 2, StateDown: 3}
	if rank[one] > rank[all] {
		return one
	}
	return all
}

// brief is the text of err in one line of at most 300 bytes.
func brief(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) <= 300 {
		return text
	}
	cut := 297
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
