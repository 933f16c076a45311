package daemon

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// State is the state of a daemon or of one of its parts.
type State string

// The states.
const (
	// StateLeader means that the part works.
	StateLeader State = "leader"
	// StateStandby means that the part takes over if the leader fails.
	StateStandby State = "standby"
	// StateDegraded means that the part works as far as it can: a destination is out, or the last round has
	// failed.
	StateDegraded State = "degraded"
	// StateDown means that the part does not work.
	StateDown State = "down"
	// StateStarting means that the part has not been checked yet.
	StateStarting State = "starting"
	// StateOK means that a database answers, or that all parts of a daemon are leader or standby.
	StateOK State = "ok"
	// StateStopping means that the daemon drains.
	StateStopping State = "stopping"
)

// Status is the status of a daemon.
type Status struct {
	// Version is the version of this format. Within a version, fields are added but not removed.
	Version int `json:"v"`
	// State is the worst of the parts and databases, or StateStopping.
	State State `json:"state"`
	// Live and Ready are the answers of /livez and /readyz; Why is the reason if one of them is false.
	Live  bool   `json:"live"`
	Ready bool   `json:"ready"`
	Why   string `json:"why,omitempty"`
	// UpSeconds is for how long the daemon has run.
	UpSeconds float64          `json:"up_seconds"`
	Parts     []PartStatus     `json:"parts"`
	Databases []DatabaseStatus `json:"databases"`
}

// PartStatus is the status of a relay or a maintenance.
type PartStatus struct {
	// Kind is "relay", "maintenance" or "inbox maintenance", Store the name of the outbox or inbox, Group
	// the name of the relay group.
	Kind  string `json:"kind"`
	Store string `json:"store"`
	Group string `json:"group,omitempty"`
	State State  `json:"state"`
	// Reason is why it is degraded or down.
	Reason string `json:"reason,omitempty"`
	// Slots are the slots that a relay leads, Out the topics that are out, at most a hundred.
	Slots []int    `json:"slots,omitempty"`
	Out   []string `json:"out,omitempty"`
	// Held is the number of records that a relay has set aside. OldestSeconds is the age of the oldest
	// record in delivery or waiting for its next attempt.
	Held          int     `json:"held,omitempty"`
	OldestSeconds float64 `json:"oldest_seconds,omitempty"`
	// Leader is the process that runs the maintenance, if it is another one.
	Leader string `json:"leader,omitempty"`
}

// DatabaseStatus shows whether a database has answered lately.
type DatabaseStatus struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"`
}

var (
	errStarting = errors.New("leat: not checked yet")
	errStopping = errors.New("leat: stopping")
)

// Live returns an error if only a new process helps: a relay is stuck, or a maintenance has done nothing
// for an hour longer than its interval. An unavailable database is not a reason to restart.
func (d *Daemon) Live() error {
	now := time.Now()
	for _, db := range d.databases {
		if db.answers(now) != nil {
			return nil //nolint:nilerr // a new process could not do more
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

// Status returns the status of the daemon and its parts. It connects to nothing.
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
