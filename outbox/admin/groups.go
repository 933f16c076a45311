package admin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// Group is a relay group: an independent reader of the outbox.
type Group struct {
	Name string
	// Slots is the number of its slots, NextSlots the number it is being changed to; 0 if it is
	// not being changed.
	Slots, NextSlots int
	// Topics are the patterns of the topics that it reads; nil: all.
	Topics []string
	// MaxLag is how old its oldest unsettled message may become before the group no longer holds
	// history back; 0 means that it always holds it back.
	MaxLag time.Duration
	// Paused are the patterns of the topics that are paused, * for all; nil: none.
	Paused []string
	// Policies are its relays' policies for records that cannot be delivered, without duplicates;
	// nil if not known. If there are several, the live relays are configured differently, and the
	// one that loses less applies.
	Policies []string
	// Server is the last change of the server on which it is relayed.
	Server driver.ServerChange
	// CreatedAt is when it was first seen, by the database's clock; zero for a group that is not
	// stored yet.
	CreatedAt time.Time
	// Leases is the number of its slots that a relay holds now, Relays the number of relays that
	// are known to be alive.
	Leases, Relays int
}

// Member is a relay of a group.
type Member struct {
	// Name is the owner of its leases: the relay's name and one incarnation of it.
	Name string
	// Slots are the numbers of the slots that it leads, ascending; none for a standby.
	Slots []int
	// WantedSlots is the number of slots that it was configured with; 0 if it has not announced
	// it. A standby of a group with a fixed single slot announces nothing and is not known.
	WantedSlots int
	// Since is when it joined or last changed WantedSlots, by the database's clock; zero if not
	// announced.
	Since time.Time
	// Until is when the other relays consider it gone unless it is heard of again.
	Until time.Time
}

// GroupRequest asks to remove a relay group, to rename it, or to change the topics that it reads.
type GroupRequest struct {
	By

	// Group is its name. Required.
	Group string
	// Topics are patterns of topics, in which * stands for any run of characters, at most
	// 1,000: those with which the group's relays are configured from now on. Only for
	// SetTopics. Defaults to all topics.
	Topics []string
	// Name is the group's new name. Required for RenameGroup, and only for it.
	Name string
	// DryRun returns what would be dropped, moved and left behind, and changes nothing.
	DryRun bool
}

func (r GroupRequest) complete() error {
	err := PauseRequest{By: r.By, Group: r.Group, Topics: r.Topics}.complete()
	if r.Name == "" {
		return err
	}
	if len(r.Name) > maxGroupBytes || r.Name == r.Group {
		return errors.Join(err, fmt.Errorf("%w: Name = %.200q: must be another name of at most %d bytes", ErrInvalidRequest, r.Name, maxGroupBytes))
	}
	return errors.Join(err, checkGroup(r.Name))
}

// maxGroupBytes bounds the name of a group.
const maxGroupBytes = 200

// Fits returns an error that wraps ErrInvalidRequest if r lacks what an action needs, or has what
// it does not take. Stores call it. The action is one of the audit: remove_group, rename_group or
// set_topics.
func (r GroupRequest) Fits(action string) error {
	if (action == "rename_group") != (r.Name != "") {
		return fmt.Errorf("%w: Name = %.200q: a group is renamed to one, and nothing else takes one", ErrInvalidRequest, r.Name)
	}
	if len(r.Topics) > 0 && action != "set_topics" {
		return fmt.Errorf("%w: Topics: a group is removed or renamed with all of its topics", ErrInvalidRequest)
	}
	return nil
}

// MaxLagRequest asks to limit how far a relay group may fall behind before it no longer holds
// history back.
type MaxLagRequest struct {
	By

	// Group is its name. Required.
	Group string
	// MaxLag is how old the group's oldest unsettled message may become before the group no longer
	// holds history back: messages that retention drops then are lost to it. 0 means that it
	// always holds history back. Not negative.
	MaxLag time.Duration
}

func (r MaxLagRequest) complete() error {
	if r.MaxLag < 0 {
		return errors.Join(r.By.complete(), fmt.Errorf("%w: a greatest lag of %s: must not be negative", ErrInvalidRequest, r.MaxLag))
	}
	return errors.Join(r.By.complete(), checkGroup(r.Group))
}

// checkGroup refuses an invalid name of a relay group. Names that begin with _ are the
// library's own.
func checkGroup(name string) error {
	if name == "" || strings.HasPrefix(name, "_") {
		return fmt.Errorf("%w: Group = %.200q: must be the name of a relay group", ErrInvalidRequest, name)
	}
	return checkTexts(map[string]string{"Group": name})
}

// PauseRequest asks to pause a relay group, or topics of it, or to resume them.
type PauseRequest struct {
	By

	// Group is its name. Required.
	Group string
	// Topics are patterns of topics, in which * stands for any run of characters, at most 1,000.
	// To resume, they must be patterns that are paused. Defaults to the whole group, or to all
	// that is paused.
	Topics []string
}

// pauseAll is the pattern of a group that is paused as a whole.
const pauseAll = "*"

// maxPaused bounds the paused patterns of a group.
const maxPaused = 1000

func (r PauseRequest) complete() error {
	errs := []error{r.By.complete(), checkGroup(r.Group)}
	for _, pattern := range r.Topics {
		if pattern == "" {
			errs = append(errs, fmt.Errorf("%w: Topics has an empty pattern", ErrInvalidRequest))
		}
		errs = append(errs, checkTexts(map[string]string{"Topics": pattern}))
	}
	if len(r.Topics) > maxPaused {
		errs = append(errs, fmt.Errorf("%w: Topics: %d patterns: must be at most %d", ErrInvalidRequest, len(r.Topics), maxPaused))
	}
	return errors.Join(errs...)
}

// Pause returns the patterns that are paused after r, given those that are paused before it;
// ascending, each once. r must be complete. The error wraps ErrInvalidRequest if there are too
// many.
func (r PauseRequest) Pause(paused []string) ([]string, error) {
	all := append(slices.Clone(paused), r.Topics...)
	if len(r.Topics) == 0 {
		all = append(all, pauseAll)
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > maxPaused {
		return paused, fmt.Errorf("%w: Topics: %d patterns would be paused: must be at most %d", ErrInvalidRequest, len(all), maxPaused)
	}
	return all, nil
}

// Resume returns the patterns that stay paused after r, which must be complete. The error wraps
// ErrInvalidRequest if one of Topics is not paused.
func (r PauseRequest) Resume(paused []string) ([]string, error) {
	if len(r.Topics) == 0 {
		return nil, nil
	}
	left := slices.Clone(paused)
	for _, pattern := range r.Topics {
		at := slices.Index(left, pattern)
		if at < 0 {
			return paused, fmt.Errorf("%w: Topics: %.200q is not paused", ErrInvalidRequest, pattern)
		}
		left = slices.Delete(left, at, at+1)
	}
	if len(left) == 0 {
		return nil, nil
	}
	return left, nil
}
